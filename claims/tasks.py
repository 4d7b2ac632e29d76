"""Celery's ways in: each task is one service call, and each is also the sweep's."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from claims.services.working import sweep, work_on


@shared_task(name="claims.apply", ignore_result=True)
def apply(*, claim_request_id: int, **_newer: Any) -> None:
    """Apply or release one request, as a message asked; a second message does nothing."""
    work_on(claim_request_id, now=timezone.now())


@shared_task(name="claims.sweep", ignore_result=True)
def sweep_due(**_newer: Any) -> None:
    """Do what messages were lost for, and what is to be tried again."""
    sweep(clock=timezone.now)
