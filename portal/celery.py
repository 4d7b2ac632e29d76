"""The Celery app: a message is a hint, the database row is the queue.

Every task that a message starts is also done by a sweep, so a lost message
costs seconds and never a request.
"""

from __future__ import annotations

import os
import time
from typing import Any

from celery import Celery
from celery.signals import (
    celeryd_after_setup,
    task_postrun,
    task_prerun,
    worker_process_init,
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("slicewise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_after_setup.connect
@worker_process_init.connect
def _start_counting(**_: Any) -> None:
    """Add what this process counts to the sums."""
    from portal.core import counting

    counting.start()


@task_prerun.connect
def _begin(task: Any = None, **_: Any) -> None:
    task.request.began = time.perf_counter()


@task_postrun.connect
def _end(task: Any = None, state: str | None = None, **_: Any) -> None:
    """Count a task by its name and how it ended."""
    from portal.core.counting import count, observe

    count("slicewise_tasks_total", task=task.name, state=(state or "unknown").lower())
    began = getattr(task.request, "began", None)
    if began is not None:
        took = time.perf_counter() - began
        observe("slicewise_task_duration_seconds", took, task=task.name)
