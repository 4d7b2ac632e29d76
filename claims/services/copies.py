"""How many copies of a claim fit now, and why the first that does not, does not.

Copies are put on one after the other, as pods of a Deployment that asks for as
many would be; what one takes is gone for the next.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from claims.domain.defaulting import defaulted_claim
from claims.domain.manifest import TEMPLATE
from claims.domain.preview import claim_of
from claims.services.explaining import aexplain, awhy, question_of
from claims.services.preview import apreview
from claims.services.shown import Reason, Together
from claims.services.why_sentences import (
    first_cause,
    pod_error_sentence,
    reason_sentence,
)
from inventory.domain.engine import Outcome
from inventory.services.engines import async_engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claims.domain.preview import Preview
    from claims.services.explaining import NodeReason
    from inventory.domain.engine import Copies
    from inventory.models import Cluster

Json = dict[str, Any]

MOST_COPIES = 64
COPIES_SECONDS = 1.0


async def acopies(
    cluster: Cluster,
    manifest: Json,
    preview: Preview,
    nodes: list[str],
    hide: frozenset[str],
) -> tuple[dict[str, Copies], Together | None]:
    """Count copies on some nodes that fit, each by itself and all together.

    Pods share a ResourceClaim, so that of it there is nothing together; nor is there
    where an error ends scheduling on every node.

    Args:
        cluster: as it now is in the database.
        manifest: a ResourceClaim or ResourceClaimTemplate in v1 shape.
        preview: of that manifest.
        nodes: some of those that fit; where others do, the count is of at least.
        hide: namespaces whose claims are only "in use" to the reader.

    Returns nothing where the count fails.
    """
    if not nodes:
        return {}, None
    try:
        return await _acounted(cluster, manifest, preview, nodes, hide)
    except PortalError:
        return {}, None


@dataclass(frozen=True, slots=True)
class CopiesAnswer:
    """How many copies fit, on each node that takes one, and together.

    Attributes:
        together: None of a ResourceClaim, which pods share, and with an error.
        problem: what ends scheduling on every node; "".
    """

    revision: int
    nodes: dict[str, Copies]
    together: Together | None
    problem: str


async def acopies_asked(
    cluster: Cluster, manifest: Json, hide: frozenset[str], most: int = MOST_COPIES
) -> CopiesAnswer:
    """Count copies on all nodes; the first that does not fit is explained.

    Args:
        cluster: as it now is in the database.
        manifest: a ResourceClaim or ResourceClaimTemplate in v1 shape.
        hide: namespaces whose claims are only "in use" to the reader.
        most: after so many the count ends.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    preview = await apreview(cluster, [claim_of(manifest)])
    nodes = preview.fitting
    counted: tuple[dict[str, Copies], Together | None] = {}, None
    if nodes:
        counted = await _acounted(cluster, manifest, preview, nodes, hide, most)
    elif manifest["kind"] == TEMPLATE and not preview.pod_error:
        open_ = any(n.outcome == Outcome.UNDECIDED for n in preview.nodes.values())
        none = await _atogether(cluster, manifest, 0, (), hide)
        counted = {}, replace(none, at_least=none.at_least or open_)
    return CopiesAnswer(preview.revision, *counted, pod_error_sentence(preview))


async def _acounted(
    cluster: Cluster,
    manifest: Json,
    preview: Preview,
    nodes: list[str],
    hide: frozenset[str],
    most: int = MOST_COPIES,
) -> tuple[dict[str, Copies], Together | None]:
    claims = [defaulted_claim(claim_of(manifest))]
    counted = await async_engine_for(cluster).copies(
        claims, nodes=nodes, most=most, budget=COPIES_SECONDS
    )
    if manifest["kind"] != TEMPLATE or preview.pod_error:
        return counted.nodes, None
    copies = counted.together.copies
    if counted.together.at_least or len(nodes) < len(preview.fitting):
        return counted.nodes, Together(copies, True)
    found = await _atogether(cluster, manifest, copies, counted.placed, hide)
    return counted.nodes, found


async def _atogether(
    cluster: Cluster,
    manifest: Json,
    copies: int,
    placed: Iterable[list[Json]],
    hide: frozenset[str],
) -> Together:
    """Ask once more where all copies are there, and say why no node can."""
    taken = list(_copies(manifest, placed))
    preview = await apreview(
        cluster, [claim_of(manifest)], overlay=taken, budget=COPIES_SECONDS
    )
    question = await sync_to_async(question_of)(cluster, manifest, taken)
    if preview.fitting or question is None:
        return Together(copies, bool(preview.fitting))
    found = await aexplain(question, preview, await awhy(question, preview))
    alike: dict[Any, list[NodeReason]] = defaultdict(list)
    for node in sorted(found):
        alike[found[node].key].append(found[node])
    why = merged(max(alike.values(), key=len, default=[]))
    return Together(copies, False, tuple(reasons_of(why, hide)) if why else ())


def _copies(manifest: Json, placed: Iterable[list[Json]]) -> Iterator[Json]:
    """Yield each copy as the claim that it would be."""
    claim = claim_of(manifest)
    for number, results in enumerate(placed, 1):
        name = _("copy %(number)d") % {"number": number}
        metadata = {"namespace": claim["metadata"].get("namespace", ""), "name": name}
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {**metadata, "uid": f"copy-{number}"},
            "spec": claim["spec"],
            "status": {"allocation": results[0]},
        }


def merged(found: list[NodeReason]) -> NodeReason | None:
    """Return the reasons of nodes that say alike as one."""
    if not found:
        return None
    whole = found[0]
    for other in found[1:]:
        whole = whole.merged(other)
    return whole


def reasons_of(why: NodeReason, hide: frozenset[str]) -> Iterator[Reason]:
    """Yield what is short; all asks where each by itself finds enough."""
    short = [each for each in why.asks if not each.is_enough]
    for each in short or why.asks:
        yield Reason(each.name, first_cause(each), reason_sentence(each, hide=hide))
