"""Celery's ways in: each task is one service call."""

from __future__ import annotations

from typing import Any

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from inventory.models import Cluster
from portal.admission.services.approved import forget_ended
from portal.admission.services.certificates import renew
from portal.admission.services.installing import trust_in
from portal.admission.services.outcomes import look
from portal.core.errors import PortalError

logger = structlog.get_logger(__name__)


@shared_task(name="admission.look", ignore_result=True)
def look_for_outcomes(**_newer: Any) -> None:
    """Keep what became of claims; forget those that were let through and are over."""
    look(now=timezone.now())
    forget_ended(now=timezone.now())


@shared_task(name="admission.certificates", ignore_result=True)
def renew_certificates(**_newer: Any) -> None:
    """Renew what is due, and have every cluster trust it."""
    if not settings.SLICEWISE_ADMISSION:
        return
    now = timezone.now()
    renew(now=now)
    for cluster in Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE):
        try:
            trust_in(cluster, now=now)
        except PortalError as error:
            logger.warning(
                "a cluster was not told", cluster=cluster.name, why=str(error)
            )
