"""Celery's ways in: each task is one service call."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from inventory.services.history import record_all


@shared_task(name="inventory.record_history", ignore_result=True)
def record_history(**_newer: Any) -> None:
    """Sample every cluster; sent each minute, it does something once a slot."""
    record_all(now=timezone.now())
