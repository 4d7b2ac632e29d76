"""The builder of CEL conditions: from what devices publish to an expression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from claims.domain.building import OPERATORS, BadValue, condition
from claims.domain.edits import with_selector
from claims.services.catalogue import SeenKey, counted_values, seen_keys
from claims.services.composing import classes_of
from inventory.services.engines import engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claims.domain.draft import Draft
    from inventory.models import Cluster
    from inventory.queries.explorer import Value


@dataclass(frozen=True, slots=True)
class Built:
    """How far a condition is put together.

    Attributes:
        key: the attribute or capacity as CEL names it, or "".
        operators: (name, words) of the comparisons that its kind has.
        values: those that devices have, with their number.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    operators: tuple[tuple[str, str], ...] = ()
    values: tuple[Value, ...] = ()
    doc: str = ""
    problem: str = ""


def started(cluster: Cluster, lists: Mapping[str, Sequence[str]], place: str) -> Built:
    """Return what the builder of an alternative shows after a key was chosen.

    Args:
        cluster: whose devices are offered.
        lists: what the browser sent.
        place: as in "0:1", request and alternative.
    """
    slot = place.replace(":", "-")
    given = {
        part: (lists.get(f"build-{slot}-{part}") or [""])[-1].strip()
        for part in ("key", "operator", "value")
    }
    seen = _seen(cluster, given["key"])
    if seen is None:
        return Built()
    return Built(
        **given,
        operators=tuple((name, _words(name)) for name in OPERATORS[seen.kind]),
        values=tuple(counted_values(cluster, seen)),
        doc=seen.doc,
    )


def finished(
    cluster: Cluster, draft: Draft, lists: Mapping[str, Sequence[str]], place: str
) -> tuple[Draft, Built]:
    """Return the draft with the condition in it; or as it was, and what is wrong."""
    built = started(cluster, lists, place)
    i, _colon, j = place.partition(":")
    try:
        row = draft.requests[int(i)].alternatives[int(j)]
    except (ValueError, IndexError):
        return draft, built
    try:
        text = condition_for(
            cluster, built.key, built.operator, built.value, row.device_class
        )
    except BadValue:
        problem = _("“%(value)s” is no value that this can be compared with.")
        return draft, replace(built, problem=problem % {"value": built.value[:80]})
    if text is None:
        return draft, replace(built, problem=_("Choose what to compare."))
    return with_selector(draft, int(i), int(j), text), Built()


def condition_for(
    cluster: Cluster, expression: str, operator: str, value: str, device_class: str
) -> str | None:
    """Return a condition over a key that devices publish, or None over any other.

    It is guarded where some device of the class lacks the key.

    Raises:
        BadValue: The key cannot be compared so.
    """
    seen = _seen(cluster, expression)
    if seen is None:
        return None
    return condition(
        seen.expression,
        seen.kind,
        operator or OPERATORS[seen.kind][0],
        value,
        guarded=_lacking(cluster, device_class, seen),
    )


def _seen(cluster: Cluster, expression: str) -> SeenKey | None:
    found = (each for each in seen_keys(cluster) if each.expression == expression)
    return next((each for each in found if each.kind in OPERATORS), None)


def _lacking(cluster: Cluster, device_class: str, seen: SeenKey) -> bool:
    """Return whether some device of the class lacks a key; unknown counts as some."""
    within = classes_of(cluster).get(device_class)
    if within is None:
        return True
    try:
        has = engine_for(cluster).evaluate([f"has({seen.expression})"], within=within)
    except PortalError:
        return True
    return has.devices is None or has.devices.match != has.total


def _words(operator: str) -> str:
    return {
        "is": _("is"),
        "is-not": _("is not"),
        "at-least": _("is at least"),
        "at-most": _("is at most"),
        "starts": _("begins with"),
        "holds": _("contains"),
    }[operator]
