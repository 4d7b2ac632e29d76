"""Presets as claims: what one gives the form, what it lets change, how often it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from claims.domain.defaulting import defaulted_claim
from claims.domain.draft import from_fields
from claims.domain.draft_fields import to_fields
from claims.domain.pasted import take
from claims.domain.presets import breaches, rules_of
from claims.domain.preview import claim_of
from claims.queries.presets import offered_to
from claims.services.checking import Checker
from claims.services.copies import COPIES_SECONDS, MOST_COPIES
from claims.services.finding_sentences import sentence
from claims.services.preview import preview
from claims.services.submit import SubmitRefused
from claims.services.why_sentences import pod_error_sentence
from inventory.domain.engine import Outcome
from inventory.services.engines import engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.domain.draft import Draft
    from claims.domain.presets import Breach
    from claims.domain.preview import Preview
    from claims.models import PresetVersion
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

MOST_NODES = 100
# Findings that say why nothing fits, the most telling first.
_TELLING = (
    "class.missing",
    "constraint.unsupported",
    "constraint.key_missing",
    "preview.zero_match",
    "preview.no_slices",
    "preview.counters_exhausted",
    "taint.blocks",
)


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a preset is free at this moment.

    Attributes:
        nodes: on how many nodes one fits.
        copies: how many fit, node by node; None where that was not counted.
        at_least: more may fit.
        problem: a sentence where nothing could be said.
        why: a sentence on why none fits; "" where some does, or it is not known.
    """

    nodes: int = 0
    copies: int | None = None
    at_least: bool = False
    problem: str = ""
    why: str = ""


_SHAPE = _lazy("The preset does not make such a manifest: render it anew.")


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


def preset_for(user: User, name: str | None, manifest: Json) -> PresetVersion | None:
    """Return the preset that a manifest says it was rendered from, if it keeps to it.

    Raises:
        SubmitRefused: No such preset is offered, or the manifest breaks its rules.
    """
    if name is None:
        return None
    row = offered_to(user).filter(name=name).first()
    if row is None or row.active is None:
        text = _("There is no preset of that name for you.")
        raise SubmitRefused(text, code="submit.preset", paths=("preset",))
    draft = take(manifest).draft
    broken = checked(row.active, draft) if draft else (("", _SHAPE),)
    if broken:
        raise SubmitRefused(str(broken[0][1]), code="preset.refused", paths=("preset",))
    return row.active


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


def room_for(
    cluster: Cluster, version: PresetVersion, *, hide: frozenset[str] = frozenset()
) -> Room:
    """Return how often a preset fits now, as the scheduler would place it.

    Args:
        cluster: where.
        version: of the preset.
        hide: namespaces whose claims are only "in use" to the reader.
    """
    try:
        found = preview(cluster, [claim_of(version.manifest)])
        if found.fitting and not found.pod_error:
            return _counted(cluster, version, found)
        if found.pod_error:
            return Room(0, 0, why=pod_error_sentence(found))
        if _is_undecided(found):
            return Room(problem=_("not decided in time"))
        return Room(0, 0, why=_why_none(cluster, version.manifest, hide))
    except PortalError as error:
        return Room(problem=error.message)


def _is_undecided(found: Preview) -> bool:
    return any(n.outcome == Outcome.UNDECIDED for n in found.nodes.values())


def _counted(cluster: Cluster, version: PresetVersion, found: Preview) -> Room:
    """Return how often a preset fits on the nodes that it fits on at all."""
    fitting = found.fitting
    if draft_from(version).is_privileged:
        return Room(len(fitting))
    counted = engine_for(cluster).copies(
        [defaulted_claim(claim_of(version.manifest))],
        nodes=fitting[:MOST_NODES],
        most=MOST_COPIES,
        budget=COPIES_SECONDS,
    )
    each = counted.nodes.values()
    return Room(
        len(fitting),
        sum(one.copies for one in each),
        _is_undecided(found)
        or len(fitting) > MOST_NODES
        or any(one.at_least for one in each),
    )


def _why_none(cluster: Cluster, manifest: Json, hide: frozenset[str]) -> str:
    """Return the first finding that keeps a preset from fitting anywhere, in words."""
    placed = {**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}}
    findings = Checker(cluster).findings(placed)
    telling = [each for each in findings if each.code in _TELLING]
    telling.sort(key=lambda each: _TELLING.index(each.code))
    return sentence(telling[0], hide=hide) if telling else ""
