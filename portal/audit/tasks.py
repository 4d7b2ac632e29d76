"""Seal what was recorded, every few seconds; the audit page does the same."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from portal.audit.services.sealing import seal


@shared_task(name="audit.seal", ignore_result=True)
def seal_events(**_newer: Any) -> None:
    """Seal every event that is not sealed yet."""
    seal()
