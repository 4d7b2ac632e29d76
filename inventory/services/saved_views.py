"""Filters of the GPUs page that people keep under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from django.utils.translation import gettext as _

from inventory.models import SavedView
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from portal.accounts.models import User

MOST = 20
# What a kept view holds; where one begins to read is no part of it.
KEPT = (
    *("q", "product", "class", "driver", "tenant", "free", "tainted", "mine"),
    *("group", "view"),
)


class ViewRefused(PortalError):
    """A view cannot be kept; the sentence says what to do."""

    code = "inventory.view_refused"


def kept_query(query: str) -> str:
    """Return what of a query string a view keeps: known names that hold something."""
    pairs = dict(parse_qsl(query))
    return urlencode([(key, value) for key, value in pairs.items() if key in KEPT])


def checked_query(query: str) -> str:
    """Return a query string as it is kept.

    Raises:
        ViewRefused: It holds what is no filter of the GPUs page.
    """
    unknown = [key for key, _value in parse_qsl(query) if key not in KEPT]
    if unknown:
        raise ViewRefused(
            _("“%(name)s” is no filter of the GPUs page; known: %(known)s.")
            % {"name": unknown[0][:60], "known": ", ".join(KEPT)}
        )
    return kept_query(query)


def save_view(user: User, name: str, query: str) -> SavedView:
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
    row, _made = SavedView.objects.update_or_create(
        user=user, name=name, defaults={"query": query[:2_000]}
    )
    return row


def remove_view(user: User, pk: int) -> bool:
    """Remove one of a person's own views; returns whether there was one."""
    count, _rows = SavedView.objects.filter(user=user, pk=pk).delete()
    return bool(count)
