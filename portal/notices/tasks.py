"""Celery's ways in; each is one service call.

Whoever is sent something may let us wait. So no more than one thread of a worker sends
what messages ask for, and one sweeps: the others go on with claims. What a message
asked for meanwhile is the next sweep's.
"""

from __future__ import annotations

import threading
from typing import Any

from celery import shared_task
from django.utils import timezone

from portal.notices.services.delivering import deliver, sweep

_sending = threading.Lock()
_sweeping = threading.Lock()


@shared_task(name="notices.deliver", ignore_result=True)
def deliver_one(*, delivery_id: int, **_newer: Any) -> None:
    """Send one delivery, as a message asked; a second message does nothing."""
    if _sending.acquire(blocking=False):
        try:
            deliver(delivery_id, now=timezone.now())
        finally:
            _sending.release()


@shared_task(name="notices.sweep", ignore_result=True)
def sweep_due(**_newer: Any) -> None:
    """Send what messages were lost for, and what is to be tried again."""
    if _sweeping.acquire(blocking=False):
        try:
            sweep(clock=timezone.now)
        finally:
            _sweeping.release()
