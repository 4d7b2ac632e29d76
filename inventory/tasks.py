"""Celery's ways in: each task is one service call."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from inventory.services.history import record_all
from inventory.services.metering import read_all


@shared_task(name="inventory.record_history", ignore_result=True)
def record_history(**_newer: Any) -> None:
    """Sample every cluster; sent each minute, it does something once a slot."""
    record_all(now=timezone.now())


@shared_task(name="inventory.read_meters", ignore_result=True)
def read_meters(**_newer: Any) -> None:
    """Ask each cluster's Prometheus what its cards use."""
    read_all(now=timezone.now())
