"""A namespace's workloads that ask device plugins for GPUs, read as a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from claims.domain.importing.workloads import resources_asked
from claims.services.yaml_text import dump
from inventory.domain.kinds import WORKLOAD_KINDS
from inventory.gateways.errors import ClusterForbidden, NotFound, NotServed
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.models import Cluster, KubeObject
from inventory.services.connections import kube_for
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import groups_of, namespaces_of
from portal.adoption.domain.live import as_written
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portal.accounts.models import User

Json = dict[str, Any]

MOST_CHOSEN = 50
# Of files, pods are kept in part only, so they cannot be given back whole.
_STORED = frozenset(kind.kind for kind in WORKLOAD_KINDS) - {"Pod"}
_MAKERS = frozenset(kind.kind for kind in WORKLOAD_KINDS) | {"ReplicaSet"}


class NotChosen(PortalError):
    """What was chosen is not there, or not this person's; the message says which."""

    code = "convert.not_there"


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """A workload that asks a device plugin for GPUs.

    Attributes:
        resources: what its pods ask for, name → number for one of each pod.
        owner: `Kind name` of what made it, which is to be changed instead; or "".
        body: as the cluster has it.
    """

    kind: str
    namespace: str
    name: str
    resources: dict[str, int]
    owner: str
    body: Json

    @property
    def key(self) -> str:
        """What chooses it in its namespace."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class LiveWorkloads:
    """What was found in a namespace.

    Attributes:
        unread: kinds that this person may not read there, or that were not loaded.
    """

    namespace: str
    found: tuple[LiveWorkload, ...]
    unread: tuple[str, ...]


def namespaces_offered(user: User, cluster: Cluster) -> list[str]:
    """Return where a person may look: their namespaces, or all with the permission."""
    own = namespaces_of(user, cluster.name)
    if own or not user.may(Permission.SEE_ALL_CLAIMS):
        return own
    rows = KubeObject.objects.filter(cluster=cluster, kind="Namespace", deleted_at=None)
    return list(rows.order_by("name").values_list("name", flat=True))


def live_workloads(cluster: Cluster, user: User, namespace: str) -> LiveWorkloads:
    """Return the workloads of a namespace that ask for GPUs; one list a kind.

    Raises:
        NotChosen: It is not one of this person's namespaces.
        KubeError: The cluster does not answer.
    """
    if namespace not in namespaces_offered(user, cluster):
        raise NotChosen(
            _("“%(namespace)s” is not one of your namespaces: choose another.")
            % {"namespace": namespace[:63]}
        )
    unread: list[str] = []
    if cluster.kind == Cluster.Kind.OFFLINE:
        bodies = _stored(cluster, namespace)
        unread.append("Pod")
    else:
        bodies = _listed(cluster, user, namespace, unread)
    found = (_workload(body) for body in bodies)
    return LiveWorkloads(
        namespace, tuple(each for each in found if each is not None), tuple(unread)
    )


def text_of(listing: LiveWorkloads, keys: Iterable[str]) -> str:
    """Return chosen workloads as manifests, in the order of the listing.

    Raises:
        NotChosen: One is no longer there, too many are chosen, or none.
    """
    chosen = frozenset(keys)
    missing = chosen - {each.key for each in listing.found}
    if missing:
        raise NotChosen(
            _("%(name)s is no longer there, or asks for no GPU any more: look again.")
            % {"name": min(missing)[:300]}
        )
    if not 0 < len(chosen) <= MOST_CHOSEN:
        raise NotChosen(
            _("Choose 1 to %(limit)d workloads.") % {"limit": MOST_CHOSEN},
            code="convert.choice",
        )
    rows = [each for each in listing.found if each.key in chosen]
    return "---\n".join(dump(as_written(each.body)) for each in rows)


def _stored(cluster: Cluster, namespace: str) -> Iterator[Json]:
    rows = KubeObject.objects.filter(
        cluster=cluster, namespace=namespace, kind__in=_STORED, deleted_at=None
    )
    bodies = rows.order_by("kind", "name").values_list("kind", "body")
    for kind, body in bodies.iterator():
        yield {**body, "kind": kind}


def _listed(
    cluster: Cluster, user: User, namespace: str, unread: list[str]
) -> Iterator[Json]:
    person = kube_for(cluster, Identity(user.username, tuple(groups_of(user))))
    forbidden = []
    for kind in WORKLOAD_KINDS:
        try:
            yield from person.list(kind, namespace).items
        except (NotFound, NotServed):
            continue
        except ClusterForbidden:
            forbidden.append(kind)
    # RBAC answers before it is told whether a kind is there at all.
    if forbidden:
        served = kube_for(cluster, AS_ITSELF).served_kinds(tuple(forbidden))
        unread += [kind.kind for kind in forbidden if kind.kind in served]


def _workload(body: Json) -> LiveWorkload | None:
    """Return a workload, unless it asks for no GPU or is made by a listed one."""
    asked = resources_asked(body)
    metadata = body.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    owner: Json = next((each for each in owners if _rules(each)), {})
    if not asked or owner.get("kind") in _MAKERS:
        return None
    return LiveWorkload(
        kind=str(body.get("kind")),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        resources=asked,
        owner=f"{owner['kind']} {owner.get('name')}" if owner else "",
        body=body,
    )


def _rules(owner: Any) -> bool:
    return isinstance(owner, dict) and bool(owner.get("controller") and owner["kind"])
