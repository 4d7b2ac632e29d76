"""Reads of what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.admission.models import AdmissionDecision

if TYPE_CHECKING:
    from django.db.models import QuerySet


def decisions() -> QuerySet[AdmissionDecision]:
    """Return what was decided, the last first."""
    return AdmissionDecision.objects.select_related("cluster").order_by("-at", "-id")
