"""Who sees whose GPU memory: administrative claims, and the work on their cards."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from claims.domain.follow import followed, owner_pod_uid
from claims.domain.lifecycle import IN_CLUSTER
from claims.domain.manifest import (
    ADMIN_LABEL,
    asks_admin_access,
    digest_of,
    request_id_of,
)
from claims.models import ClaimRequest
from inventory.domain.holds import held_memory
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from portal.accounts.models import TenantNamespace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.cards import Card
    from inventory.domain.fleet import DeviceKey
    from inventory.domain.holds import Hold
    from inventory.models import Cluster


@dataclass
class Work:
    """What one tenant, or one namespace of none, has on some cards.

    Attributes:
        memory: bytes; a lower bound where `at_least`.
    """

    tenant: str
    namespaces: set[str] = field(default_factory=set)
    claims: set[tuple[str, str]] = field(default_factory=set)
    memory: int = 0
    at_least: bool = False

    @property
    def spaces(self) -> str:
        """Its namespaces there, by name."""
        return ", ".join(sorted(self.namespaces))


@dataclass(frozen=True)
class Reach:
    """Some devices: how many cards they are of, and whose work is on those."""

    devices: int
    cards: int
    works: tuple[Work, ...]

    @property
    def claims(self) -> int:
        """How many claims have work there."""
        return sum(len(work.claims) for work in self.works)


@dataclass(frozen=True)
class Seer:
    """An administrative claim, or a template that such claims can be made from.

    Attributes:
        claim_request: the portal's own, where it made the object as it stands.
        reach: None for a template, and for a claim without devices yet.
    """

    kind: str
    namespace: str
    name: str
    tenant: str
    pods: tuple[str, ...]
    state: str
    claim_request: ClaimRequest | None
    reach: Reach | None

    @property
    def ends_at(self) -> datetime | None:
        """When the portal ends it, or None for never."""
        return self.claim_request.expires_at if self.claim_request else None


@dataclass(frozen=True)
class LabelledNamespace:
    """A namespace in which administrative access may be asked for."""

    name: str
    tenant: str
    seers: int


def tenants_by_namespace(cluster: Cluster) -> dict[str, str]:
    """Return namespace → tenant's name; one query."""
    rows = TenantNamespace.objects.filter(cluster=cluster.name)
    return dict(rows.values_list("namespace", "tenant__name"))


def reach_of(
    cluster: Cluster, devices: Iterable[DeviceKey], tenants: dict[str, str]
) -> Reach:
    """Return whose work is on the cards of some devices.

    A card counts whole: who sees one face of it sees what runs on the others.
    """
    fleet = fleet_of(cluster)
    cards: dict[int, Card] = {}
    holds: list[tuple[Card | None, Hold]] = []
    keys = set(devices)
    for key in keys:
        unit = fleet.unit_of(key)
        card = unit.by_device.get(key) if unit else None
        if card is None:
            holds += [(None, hold) for hold in fleet.others.get(key, ())]
        elif id(card) not in cards:
            cards[id(card)] = card
            _used, occupancy = fleet.use[id(card)]
            holds += [(card, hold) for hold in occupancy.holds]
    return Reach(len(keys), len(cards), _works(holds, tenants))


def _works(
    holds: Iterable[tuple[Card | None, Hold]], tenants: dict[str, str]
) -> tuple[Work, ...]:
    works: dict[str, Work] = {}
    for card, hold in holds:
        if hold.admin:
            continue
        tenant = tenants.get(hold.namespace, "")
        work = works.setdefault(tenant or f"/{hold.namespace}", Work(tenant))
        work.namespaces.add(hold.namespace)
        work.claims.add((hold.namespace, hold.claim))
        memory = _memory_of(card, hold)
        work.memory += memory or 0
        work.at_least = work.at_least or memory is None
    return tuple(sorted(works.values(), key=lambda w: (-w.memory, w.tenant)))


def _memory_of(card: Card | None, hold: Hold) -> int | None:
    for part in card.parts if card else ():
        if (part.driver, part.pool, part.name) == (hold.driver, hold.pool, hold.device):
            return held_memory(part, [hold])
    return hold.memory


def exposure_of(
    cluster: Cluster,
) -> tuple[list[Seer], list[LabelledNamespace]]:
    """Return every administrative claim and template, and the labelled namespaces.

    Makes five queries, however many there are, and those of a changed fleet.
    """
    tenants = tenants_by_namespace(cluster)
    objects = _admin_objects(cluster)
    claims = [body for kind, body in objects if kind == "ResourceClaim"]
    pods = _pods(cluster, claims)
    seers = [_seer(cluster, kind, body, pods, tenants) for kind, body in objects]
    found = _with_requests(cluster, seers)
    found.sort(key=lambda s: (s.kind, -(s.reach.claims if s.reach else 0), s.name))
    count: dict[str, int] = defaultdict(int)
    for seer in found:
        count[seer.namespace] += 1
    labelled = KubeObject.objects.filter(
        cluster=cluster,
        kind="Namespace",
        deleted_at=None,
        body__metadata__labels__contains={ADMIN_LABEL: "true"},
    ).order_by("name")
    return found, [
        LabelledNamespace(name, tenants.get(name, ""), count[name])
        for name in labelled.values_list("name", flat=True)
    ]


def _admin_objects(cluster: Cluster) -> list[tuple[str, dict[str, Any]]]:
    """Return kind and body of what asks for administrative access; one query."""
    rows = KubeObject.objects.filter(
        _asks("body__spec__devices__requests", kind="ResourceClaim")
        | _asks("body__spec__spec__devices__requests", kind="ResourceClaimTemplate"),
        cluster=cluster,
        deleted_at=None,
    )
    return [
        (kind, body)
        for kind, body in rows.values_list("kind", "body").iterator(chunk_size=1000)
        if asks_admin_access({**body, "kind": kind})
    ]


def _asks(requests: str, *, kind: str) -> Q:
    """Return what leaves objects of a kind that ask for it in these requests."""
    asked = {"adminAccess": True}
    return Q(kind=kind) & (
        Q(**{f"{requests}__contains": [{"exactly": asked}]})
        | Q(**{f"{requests}__contains": [{"firstAvailable": [asked]}]})
    )


def _pods(cluster: Cluster, bodies: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return uid → body of the pods that own some claims; one query."""
    uids = {owner_pod_uid(body) for body in bodies} - {""}
    pods = KubeObject.objects.filter(
        cluster=cluster, kind="Pod", uid__in=uids, deleted_at=None
    )
    return dict(pods.values_list("uid", "body"))


def _seer(
    cluster: Cluster,
    kind: str,
    body: dict[str, Any],
    pods: dict[str, Any],
    tenants: dict[str, str],
) -> tuple[Seer, dict[str, Any]]:
    metadata = body["metadata"]
    claim = followed(body, pods) if kind == "ResourceClaim" else None
    devices = [
        (each.driver, each.pool, each.device)
        for each in (claim.devices if claim else ())
        if each.admin_access
    ]
    seer = Seer(
        kind=kind,
        namespace=metadata["namespace"],
        name=metadata["name"],
        tenant=tenants.get(metadata["namespace"], ""),
        pods=claim.pods if claim else (),
        state=str(claim.state) if claim else "",
        claim_request=None,
        reach=reach_of(cluster, devices, tenants) if devices else None,
    )
    return seer, {**body, "kind": kind}


def _with_requests(
    cluster: Cluster, pairs: list[tuple[Seer, dict[str, Any]]]
) -> list[Seer]:
    """Say which objects are the portal's own.

    A label can be forged, so the namespace and the digest of the spec must be
    those of the request's plan too.
    """
    rows = ClaimRequest.objects.filter(
        plan__cluster=cluster, state__in=IN_CLUSTER
    ).select_related("plan", "requester")
    by_id: dict[str, ClaimRequest] = {str(row.public_id): row for row in rows}
    found = []
    for seer, body in pairs:
        row = by_id.get(request_id_of(body))
        is_ours = (
            row is not None
            and row.plan.namespace == seer.namespace
            and row.plan.digest == digest_of(body)
        )
        found.append(replace(seer, claim_request=row if is_ours else None))
    return found
