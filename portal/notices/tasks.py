"""Celery's ways in; each is one service call."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from portal.notices.services.delivering import deliver, sweep


@shared_task(name="notices.deliver", ignore_result=True)
def deliver_one(*, delivery_id: int, **_newer: Any) -> None:
    """Send one delivery, as a message asked; a second message does nothing."""
    deliver(delivery_id, now=timezone.now())


@shared_task(name="notices.sweep", ignore_result=True)
def sweep_due(**_newer: Any) -> None:
    """Send what messages were lost for, and what is to be tried again."""
    sweep(clock=timezone.now)
