"""Hints to workers and to open pages, sent after commit; losing one costs seconds."""

from __future__ import annotations

import json
from typing import Any

import structlog
from celery import current_app
from django.db import connection, transaction
from kombu.exceptions import OperationalError

logger = structlog.get_logger(__name__)

CHANNEL = "slicewise"


def wake(task: str, **kwargs: int | str) -> None:
    """Send a task by name once the surrounding transaction has committed."""
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")

    def send() -> None:
        # Not a partial: Django names the function of a robust hook that fails.
        _send(task, kwargs, str(request_id))

    transaction.on_commit(send, robust=True)


def _send(task: str, kwargs: dict[str, int | str], request_id: str) -> None:
    headers = {"slicewise_request_id": request_id} if request_id else {}
    try:
        current_app.send_task(task, kwargs=kwargs, headers=headers, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning(
            "hint not sent; the sweep will do it", task=task, error=str(error)
        )


def notify(**payload: Any) -> None:
    """Tell every listening process about a change, when this transaction commits.

    Source: Postgres NOTIFY, payload at most 8,000 bytes, delivered at commit.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps(payload)])
