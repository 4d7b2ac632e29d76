"""Presets as claims: what one gives the form, what it lets change, how often it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from claims.domain.defaulting import defaulted_claim
from claims.domain.draft import from_fields
from claims.domain.draft_fields import to_fields
from claims.domain.pasted import take
from claims.domain.presets import breaches, rules_of
from claims.domain.preview import claim_of
from claims.services.preview import preview
from claims.services.why_sentences import pod_error_sentence
from inventory.domain.engine import Outcome
from inventory.services.engines import engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.domain.draft import Draft
    from claims.domain.presets import Breach
    from claims.models import PresetVersion
    from inventory.models import Cluster

Json = dict[str, Any]

MOST_COPIES = 64
MOST_NODES = 100
COPIES_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a preset is free at this moment.

    Attributes:
        nodes: on how many nodes one fits.
        copies: how many fit, node by node; None where that was not counted.
        at_least: more may fit.
        problem: a sentence where nothing could be said.
    """

    nodes: int = 0
    copies: int | None = None
    at_least: bool = False
    problem: str = ""


class PresetRefused(PortalError):
    """A draft that its preset does not allow; each breach is (field, sentence)."""

    code = "preset.refused"

    def __init__(self, found: tuple[tuple[str, str], ...]) -> None:
        super().__init__(found[0][1])
        self.found = found


def draft_from(version: PresetVersion, *, namespace: str = "") -> Draft:
    """Return the form as a preset fills it.

    Raises:
        PortalError: The stored manifest no longer fits the form.
    """
    taken = take(version.manifest)
    if taken.draft is None or taken.kept:
        raise PortalError(
            _(
                "This preset does not fit the form: ask an administrator to put it right."
            )
        )
    return replace(taken.draft, namespace=namespace)


def checked(version: PresetVersion, sent: Draft) -> tuple[tuple[str, str], ...]:
    """Return what a preset does not allow of a draft: (field, sentence)."""
    found = breaches(draft_from(version), sent, rules_of(version.fields))
    return tuple((each.field, breach_sentence(each)) for each in found)


def filled(version: PresetVersion, values: Mapping[str, str]) -> Draft:
    """Return the draft of a preset with fields set by their names.

    Raises:
        PresetRefused: A field is locked, unknown, or out of its bounds.
    """
    fields = to_fields(draft_from(version))
    fields |= {name: [value] for name, value in values.items()}
    draft = from_fields(fields)
    unknown = fields.keys() - to_fields(draft).keys()
    refused = tuple(
        (name, _("The preset has no field “%(name)s”.") % {"name": name[:80]})
        for name in sorted(unknown)
    )
    if refused := (*refused, *checked(version, draft)):
        raise PresetRefused(refused)
    return draft


def breach_sentence(breach: Breach) -> str:
    """Return why a field is refused, in words."""
    rule = {"least": breach.rule.least, "most": breach.rule.most}
    sentences = {
        "preset.locked": _(
            "The preset sets this; open the full form to have it otherwise."
        ),
        "preset.low": _("The preset asks for at least %(least)s.") % rule,
        "preset.high": _("The preset allows at most %(most)s.") % rule,
        "preset.number": _("Write a number or a quantity, for example 2 or 16Gi."),
    }
    return sentences[breach.code]


def room_for(cluster: Cluster, version: PresetVersion) -> Room:
    """Return how often a preset fits now, as the scheduler would place it."""
    claim = claim_of(version.manifest)
    try:
        found = preview(cluster, [claim])
        fitting = found.fitting
        undecided = any(n.outcome == Outcome.UNDECIDED for n in found.nodes.values())
        if found.pod_error or (undecided and not fitting):
            return Room(problem=pod_error_sentence(found) or _("not decided in time"))
        if not fitting or draft_from(version).is_privileged:
            return Room(len(fitting), None if fitting else 0)
        counted = engine_for(cluster).copies(
            [defaulted_claim(claim)],
            nodes=fitting[:MOST_NODES],
            most=MOST_COPIES,
            budget=COPIES_SECONDS,
        )
    except PortalError as error:
        return Room(problem=error.message)
    each = counted.nodes.values()
    return Room(
        len(fitting),
        sum(one.copies for one in each),
        undecided or len(fitting) > MOST_NODES or any(one.at_least for one in each),
    )
