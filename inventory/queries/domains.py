"""The ComputeDomains of a cluster, as far as a person may see their names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.domain.domains import (
    DRIVER,
    ComputeDomain,
    DomainDevice,
    device_kind,
    domain_ids,
    parse_domain,
)
from inventory.models import Allocation, KubeObject, Pool

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class Domains:
    """The domains that may be named, and how many others there are."""

    seen: list[ComputeDomain]
    hidden: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.seen) + self.hidden

    @property
    def healthy(self) -> int:
        """How many of those seen are ready with all members."""
        return sum(domain.healthy for domain in self.seen)


def compute_domains(cluster: Cluster, viewer: Viewer) -> Domains:
    """Return the domains of a cluster, by namespace and name; one query where there is none, else four."""
    rows = (
        KubeObject.objects.filter(
            cluster=cluster, kind="ComputeDomain", deleted_at=None
        )
        .order_by("namespace", "name")
        .values_list("namespace", "name", "body", "uid")
    )
    held = _held(cluster, viewer) if rows else {}
    seen = []
    for namespace, name, body, uid in rows:
        if viewer.sees(namespace):
            domain = parse_domain(namespace, name, body)
            devices = tuple(held.get(domain.uid or uid, ()))
            seen.append(replace(domain, uid=domain.uid or uid, devices=devices))
    return Domains(seen, len(rows) - len(seen))


def _held(cluster: Cluster, viewer: Viewer) -> dict[str, list[DomainDevice]]:
    """Return domain uid → the channels and daemons that are held for it."""
    held = Allocation.objects.filter(cluster=cluster, driver=DRIVER).order_by(
        "pool", "device", "pk"
    )
    rows = list(held.values_list("claim_namespace", "claim_name", "pool", "device"))
    names = {(namespace, claim) for namespace, claim, *_rest in rows}
    domains = _domains_of_claims(cluster, names)
    nodes = dict(
        Pool.objects.filter(cluster=cluster, driver=DRIVER).values_list(
            "name", "node_name"
        )
    )
    found: dict[str, list[DomainDevice]] = defaultdict(list)
    for namespace, claim, pool, device in rows:
        named = viewer.sees(namespace)
        entry = DomainDevice(
            nodes.get(pool) or pool,
            device,
            device_kind(device),
            namespace if named else "",
            claim if named else "",
        )
        for uid in domains.get((namespace, claim), ()):
            found[uid].append(entry)
    return found


def _domains_of_claims(
    cluster: Cluster, names: set[tuple[str, str]]
) -> dict[tuple[str, str], set[str]]:
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceClaim",
        deleted_at=None,
        namespace__in={namespace for namespace, _name in names},
        name__in={name for _namespace, name in names},
    ).values_list("namespace", "name", "body")
    return {row[:2]: domain_ids(row[2]) for row in rows}
