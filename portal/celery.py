"""The Celery app: a message is a hint, the database row is the queue.

Every task that a message starts is also done by a sweep, so a lost message
costs seconds and never a request.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("slicewise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
