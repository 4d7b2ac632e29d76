"""Proven changes in words, as advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from claims.domain.why.changes import Rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from claims.domain.why.changes import Change
    from claims.services.counterfactual import Proven

MOST_NAMED = 3


def change_sentence(
    proven: Proven,
    *,
    hide: frozenset[str] = frozenset(),
    own: frozenset[str] = frozenset(),
) -> str:
    """Return what would have to change, in the language that is active.

    Args:
        proven: one change.
        hide: namespaces whose claims are only "another tenant's" to the reader.
        own: the reader's namespaces.
    """
    if proven.change is not None:
        change = proven.change
        values = {
            **change.values,
            "ask": change.ask,
            "old": str(change.old),
            "new": str(change.new),
        }
        return _WORDS[change.rank](change) % values
    namespace, name = proven.ending or ("", "")
    if namespace in hide:
        return _("Wait: another tenant’s claim would free it when it ends.")
    values = {"claim": f"{namespace}/{name}"}
    if namespace in own:
        return _("It fits as it is when the claim %(claim)s of yours ends.") % values
    return _("Wait: it fits as it is when the claim %(claim)s ends.") % values


def where_sentence(proven: Proven) -> str:
    """Return where it fits then."""
    names = ", ".join(proven.nodes[:MOST_NAMED])
    more = len(proven.nodes) - MOST_NAMED
    if more > 0:
        names += " " + ngettext("and %(n)s more", "and %(n)s more", more) % {"n": more}
    return _("Then it fits on %(nodes)s.") % {"nodes": names}


def _relax(_change: Change) -> str:
    return _("Relax selector %(number)s of %(ask)s to %(key)s %(sign)s %(value)s.")


def _value(_change: Change) -> str:
    return _(
        "Let selector %(number)s of %(ask)s take %(key)s %(sign)s %(value)s instead."
    )


def _count(change: Change) -> str:
    if change.old == "All":
        return _("Ask for one device (%(ask)s) instead of all of a node’s.")
    return _("Ask for %(new)s instead of %(old)s devices (%(ask)s).")


def _capacity(change: Change) -> str:
    if "other" in change.values:
        return _("Write the capacity “%(key)s” of %(ask)s as “%(other)s”.")
    return _("Ask for %(new)s of %(key)s instead of %(old)s (%(ask)s).")


def _tolerate(_change: Change) -> str:
    return _(
        "Tolerate the taint %(taint)s (%(ask)s), if its reason does not matter to you."
    )


def _constraint(_change: Change) -> str:
    return _("Leave out the constraint on %(key)s.")


def _part(change: Change) -> str:
    if "part" not in change.values:
        return _("Leave out the capacity “%(key)s” of %(ask)s.")
    return _("Leave the condition “%(part)s” out of selector %(number)s of %(ask)s.")


def _selector(change: Change) -> str:
    if not change.values.get("keys"):
        return _("Leave out selector %(number)s of %(ask)s.")
    return _("Leave out selector %(number)s of %(ask)s (%(keys)s).")


def _class(_change: Change) -> str:
    return _("Take the class %(new)s instead of %(old)s (%(ask)s).")


_WORDS: dict[Rank, Callable[[Change], str]] = {
    Rank.RELAX: _relax,
    Rank.COUNT: _count,
    Rank.CAPACITY: _capacity,
    Rank.TOLERATE: _tolerate,
    Rank.CONSTRAINT: _constraint,
    Rank.VALUE: _value,
    Rank.PART: _part,
    Rank.SELECTOR: _selector,
    Rank.CLASS: _class,
}
