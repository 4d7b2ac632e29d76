"""Reads of the catalogue of presets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from claims.models import Preset
from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from portal.accounts.models import User


def offered_to(user: User) -> QuerySet[Preset]:
    """Return the active presets that a person may use, by category and title."""
    rows = Preset.objects.filter(active__isnull=False).select_related("active")
    if not user.may(Permission.MANAGE_PRESETS):
        own = user.tenants.values("pk")
        rows = rows.filter(
            Q(for_all=True)
            | Q(
                pk__in=Preset.tenants.through.objects.filter(tenant__in=own).values(
                    "preset"
                )
            )
        )
    return rows.order_by("active__category", "active__title", "name")


def seen_by(user: User) -> QuerySet[Preset]:
    """Return what a person may see of the catalogue: for admins retired ones too."""
    if user.may(Permission.MANAGE_PRESETS):
        return Preset.objects.select_related("active").order_by("name")
    return offered_to(user).order_by("name")
