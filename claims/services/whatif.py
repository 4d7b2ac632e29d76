"""What if: the preview of a claim as the cluster is, and as it would be, side by side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from claims.domain.checks.shape import shape_findings
from claims.domain.preview import claim_of
from claims.domain.why.suppose import Kind, NothingThere, Supposition, supposed
from claims.services.explaining import ground_of
from claims.services.finding_sentences import sentence
from claims.services.fits import fit_of
from claims.services.preview import apreview_on
from inventory.domain.engine import Outcome
from inventory.services.engines import async_engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.preview import NodePreview, Preview
    from claims.domain.why.suppose import Supposed
    from claims.services.fits import ClaimFit
    from inventory.models import Cluster

Json = dict[str, Any]


class BadManifest(PortalError):
    """What is asked about is no claim that the API server would take."""

    code = "whatif.manifest"


class NotThere(PortalError):
    """What is supposed names nothing in the cluster."""

    code = "whatif.not_there"


@dataclass(frozen=True, slots=True)
class Side:
    """One node on one side: its outcome, and the devices that would be given."""

    outcome: str
    devices: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One node before and after; None where it is not there."""

    node: str
    before: Side | None
    after: Side | None

    @property
    def is_changed(self) -> bool:
        """Whether the node says something else."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Two previews of one claim.

    Attributes:
        displaced: (namespace, name) of claims whose pods would have to move.
        nodes: those that change first.
    """

    before: Preview
    after: Preview
    displaced: tuple[tuple[str, str], ...]
    nodes: tuple[Compared, ...]

    @property
    def changed(self) -> int:
        """How many nodes say something else."""
        return sum(each.is_changed for each in self.nodes)

    @property
    def fits(self) -> tuple[ClaimFit, ClaimFit]:
        """What each side says as a whole: fitting, undecided or in error."""
        return fit_of("", self.before), fit_of("", self.after)

    @property
    def is_decided(self) -> bool:
        """Whether every node of both sides says yes or no, so that counts say all."""
        known = not any(fit.undecided or fit.error for fit in self.fits)
        return known and bool(self.before.nodes)

    def named(self, hidden: frozenset[str]) -> list[str]:
        """Return the displaced claims that a reader may know, as `namespace/name`."""
        return [f"{s}/{name}" for s, name in self.displaced if s not in hidden]

    def document(self, hidden: frozenset[str] = frozenset()) -> Json:
        """Return it as JSON, for callers of the API; hidden claims are only counted."""
        return {
            "before": self.before.document(),
            "after": self.after.document(),
            "displaced": len(self.displaced),
            "displacedClaims": self.named(hidden),
            "changed": [each.node for each in self.nodes if each.is_changed],
        }


def claim_in(body: Any) -> Json:
    """Return the claim or template that was given.

    Raises:
        BadManifest: It is none, or one that the API server would refuse.
    """
    kinds = ("ResourceClaim", "ResourceClaimTemplate")
    if not isinstance(body, dict) or body.get("kind") not in kinds:
        raise BadManifest(
            _("Give a ResourceClaim or ResourceClaimTemplate; nothing was asked.")
        )
    if found := shape_findings(body):
        raise BadManifest(f"{found[0].path}: {sentence(found[0])}")
    if not isinstance(body.get("metadata"), dict):
        raise BadManifest(_("Give the claim a name and a namespace."))
    return body


async def awhatif(
    cluster: Cluster,
    manifest: Json,
    supposition: Supposition,
    *,
    own: frozenset[str] | None = None,
) -> WhatIf:
    """Preview a claim now and under a supposition; nothing is written anywhere.

    Args:
        cluster: as it now is in the database.
        manifest: a ResourceClaim or ResourceClaimTemplate in v1 shape.
        supposition: one thing that would be different.
        own: namespaces whose claims the reader may see, None for all.

    Raises:
        NotThere: There is no such node, device or claim, or none to be named.
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    different = await sync_to_async(_supposed)(cluster, supposition, own)
    engine = async_engine_for(cluster)
    claims = [claim_of(manifest)]
    before, after = await asyncio.gather(
        apreview_on(engine, claims), apreview_on(engine.on(different.rows), claims)
    )
    nodes = sorted(
        _compared(before, after), key=lambda each: (not each.is_changed, each.node)
    )
    return WhatIf(before, after, different.displaced, tuple(nodes))


def _supposed(
    cluster: Cluster, supposition: Supposition, own: frozenset[str] | None
) -> Supposed:
    """Return what would stand; of others' claims not even whether there is one."""
    namespace = supposition.target.partition("/")[0]
    if supposition.kind == Kind.END and own is not None and namespace not in own:
        raise NotThere(_sentence(supposition))
    try:
        return supposed(supposition, ground_of(cluster).world)
    except NothingThere as error:
        raise NotThere(_sentence(supposition)) from error


def _sentence(supposition: Supposition) -> str:
    values = {"target": supposition.target}
    if supposition.kind == Kind.TAINT:
        return (
            _("There is no device “%(target)s”; write driver/pool/device as listed.")
            % values
        )
    if supposition.kind == Kind.END:
        return (
            _("There is no claim “%(target)s” that you may see; choose one listed.")
            % values
        )
    return _("There is no node “%(target)s”; choose one that is listed.") % values


def _compared(before: Preview, after: Preview) -> Iterator[Compared]:
    for node in sorted(before.nodes.keys() | after.nodes.keys()):
        yield Compared(
            node, _side(before.nodes.get(node)), _side(after.nodes.get(node))
        )


def _side(node: NodePreview | None) -> Side | None:
    if node is None:
        return None
    devices = tuple(
        f"{result.get('pool')}/{result.get('device')}"
        for result in node.device_results()
    )
    message = "" if node.outcome in (Outcome.NO, Outcome.FITS) else node.message
    return Side(node.outcome.value, devices, message)
