"""The Celery app: a message is a hint, the database row is the queue.

Every task that a message starts is also done by a sweep, so a lost message
costs seconds and never a request.
"""

from __future__ import annotations

import os
import time
from typing import Any

import structlog
from celery import Celery, bootsteps
from celery.beat import PersistentScheduler
from celery.signals import (
    celeryd_after_setup,
    task_postrun,
    task_prerun,
    worker_process_init,
)

# Of messages: the request that a task belongs to.
REQUEST_ID = "slicewise_request_id"

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("slicewise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

ALIVE_SECONDS = 10.0


class Alive(bootsteps.StartStopStep):
    """Have the worker's own loop give signs of life, as its sweep does (claims.tasks).

    The loop stands still while the broker is away, and a step of the sweep may last.
    """

    requires = ("celery.worker.components:Timer",)

    def start(self, parent: Any) -> None:
        """Begin, and give the first at once."""
        from portal.core.heartbeats import beat

        beat("worker")
        parent.timer.call_repeatedly(ALIVE_SECONDS, beat, ("worker",))


class AliveScheduler(PersistentScheduler):
    """Beat's scheduler, which gives a sign of life each time that it goes round."""

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """Send what is due; return the seconds until the next is."""
        from portal.core.heartbeats import beat

        beat("beat")
        return super().tick(*args, **kwargs)


app.steps["worker"].add(Alive)


@celeryd_after_setup.connect
@worker_process_init.connect
def _start_counting(**_: Any) -> None:
    """Add what this process counts to the sums."""
    from portal.core import counting

    counting.start()


@task_prerun.connect
def _begin(task: Any = None, **_: Any) -> None:
    """Log under the request that the task was sent by; sweeps have none."""
    task.request.began = time.perf_counter()
    structlog.contextvars.clear_contextvars()
    names = {"request_id": task.request.get(REQUEST_ID), "task_id": task.request.id}
    structlog.contextvars.bind_contextvars(
        **{name: value for name, value in names.items() if value}
    )


@task_postrun.connect
def _end(task: Any = None, state: str | None = None, **_: Any) -> None:
    """Count a task by its name and how it ended."""
    from portal.core.counting import count, observe

    count("slicewise_tasks_total", task=task.name, state=(state or "unknown").lower())
    began = getattr(task.request, "began", None)
    if began is not None:
        took = time.perf_counter() - began
        observe("slicewise_task_duration_seconds", took, task=task.name)
