"""Whether a ComputeDomain would find its nodes: channels by the engine, cliques as told.

A clique is told by a node's label, or by a domain that the node was a member of;
slices do not say it. Of what nobody tells it is unknown, not none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.compute_domains import (
    CHANNEL_CLASS,
    CLIQUE_LABEL,
    Room,
    channel_claim,
    findings_of,
    room_of,
    shape_findings,
    wanted_nodes,
)
from claims.services.preview import preview as ask_preview
from inventory.domain.domains import DRIVER, parse_domain
from inventory.models import KubeObject, Pool
from inventory.services.watching.messages import KindState

if TYPE_CHECKING:
    from claims.domain.checks.findings import Finding
    from inventory.models import Cluster

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DomainPreview:
    """What stands where a claim has its preview.

    Attributes:
        revision: of the snapshot.
        engine: which allocator looked for free channels; {} where none did.
        room: the nodes, by clique.
    """

    revision: int
    engine: Json
    room: Room

    def document(self) -> Json:
        """Return the JSON that is stored with a plan and that the API answers."""
        return {
            "revision": self.revision,
            "engine": self.engine,
            "nodes": {},
            "domain": self.room.document(),
        }


def looked_at(
    cluster: Cluster, body: Json
) -> tuple[list[Finding], DomainPreview | None]:
    """Return what is found about a ComputeDomain, and its preview if it is sound.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    if found := shape_findings(body):
        return found, None
    classes = _there(cluster, "DeviceClass").filter(name=CHANNEL_CLASS)
    has_class = classes.exists()
    nodes = _channel_nodes(cluster) if has_class else set()
    outcomes: dict[str, str] = {}
    revision, engine = cluster.revision, {}
    if nodes:
        asked = ask_preview(cluster, [channel_claim(body["metadata"]["namespace"])])
        revision, engine = asked.revision, asked.engine
        outcomes = {n: asked.nodes[n].outcome.value for n in nodes & asked.nodes.keys()}
    room = room_of(wanted_nodes(body), outcomes, cliques_of(cluster))
    found = findings_of(
        body,
        room,
        is_served=is_served(cluster),
        has_class=has_class,
        template_taken=_is_taken(cluster, body),
    )
    return found, DomainPreview(revision, engine, room)


def is_served(cluster: Cluster) -> bool:
    """Return whether a cluster has ComputeDomains; unless it is known not to, yes."""
    return cluster.state_of("ComputeDomain") != KindState.NOT_SERVED


def cliques_of(cluster: Cluster) -> dict[str, str]:
    """Return node → NVLink clique, of the nodes of which somebody tells it; two queries."""
    found: dict[str, str] = {}
    for body in _there(cluster, "ComputeDomain").values_list("body", flat=True):
        for member in parse_domain("", "", body).members:
            if member.clique:
                found[member.node] = member.clique
    for name, metadata in _there(cluster, "Node").values_list("name", "body__metadata"):
        if clique := ((metadata or {}).get("labels") or {}).get(CLIQUE_LABEL):
            found[name] = str(clique)
    return found


def _there(cluster: Cluster, kind: str) -> Any:
    return KubeObject.objects.filter(cluster=cluster, kind=kind, deleted_at=None)


def _channel_nodes(cluster: Cluster) -> set[str]:
    pools = Pool.objects.filter(cluster=cluster, driver=DRIVER)
    return {name for name in pools.values_list("node_name", flat=True) if name}


def _is_taken(cluster: Cluster, body: Json) -> bool:
    name = body["spec"]["channel"]["resourceClaimTemplate"]["name"]
    rows = _there(cluster, "ResourceClaimTemplate")
    return bool(
        rows.filter(namespace=body["metadata"]["namespace"], name=name).exists()
    )
