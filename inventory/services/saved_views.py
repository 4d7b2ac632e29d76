"""Filters of the GPUs page that people keep under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.models import SavedView
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from portal.accounts.models import User

MOST = 20


class ViewRefused(PortalError):
    """A view cannot be kept; the sentence says what to do."""

    code = "inventory.view_refused"


def save_view(user: User, name: str, query: str) -> None:
    """Keep a filter under a name; the same name again replaces it.

    Raises:
        ViewRefused: It has no name, a name that is too long, or there are too many.
    """
    name = name.strip()
    if not name or len(name) > 63:
        raise ViewRefused(_("Give the view a name of at most 63 characters."))
    kept = SavedView.objects.filter(user=user).exclude(name=name)
    if kept.count() >= MOST:
        raise ViewRefused(
            _("You keep %(most)d views already; remove one first.") % {"most": MOST}
        )
    SavedView.objects.update_or_create(
        user=user, name=name, defaults={"query": query[:2_000]}
    )


def remove_view(user: User, pk: int) -> bool:
    """Remove one of a person's own views; returns whether there was one."""
    count, _rows = SavedView.objects.filter(user=user, pk=pk).delete()
    return bool(count)
