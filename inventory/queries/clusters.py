"""Reads about clusters and about who looks at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.kinds import WATCHED
from inventory.domain.visibility import Viewer
from inventory.models import Cluster
from portal.accounts.domain.roles import Permission
from portal.accounts.models import TenantNamespace
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from portal.accounts.models import User

# All columns of a page; never the kubeconfig.
COLUMNS = (
    "name",
    "kind",
    "kubernetes_version",
    "feature_gates",
    "revision",
    "heard_at",
    "failed_at",
    "failure",
    "kinds",
    "created_at",
    "prometheus_url",
)


@dataclass(frozen=True, slots=True)
class KindState:
    """Whether one kind is seen: `state` as the watcher says, "" where it says nothing."""

    kind: str
    state: str
    message: str

    @property
    def seen(self) -> bool:
        """Whether what is stored of this kind is what the cluster has."""
        return self.state in ("watching", "loaded")


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster and the state of each kind that we read."""

    cluster: Cluster
    kinds: tuple[KindState, ...]

    @property
    def unseen(self) -> list[KindState]:
        """The kinds that are served, but not seen: what they hold is unknown."""
        return [k for k in self.kinds if not k.seen and k.state != "not-served"]


def find_cluster(name: str) -> Cluster | None:
    """Return a cluster by name without its secrets, or None; one query."""
    return Cluster.objects.only(*COLUMNS).filter(name=name).first()


def first_cluster_name() -> str | None:
    """Return the first cluster's name, or None where there is none; one query."""
    return Cluster.objects.order_by("name").values_list("name", flat=True).first()


def cluster_rows() -> list[ClusterRow]:
    """Return every cluster by name; one query."""
    return [
        cluster_row(cluster)
        for cluster in Cluster.objects.only(*COLUMNS).order_by("name")
    ]


def cluster_row(cluster: Cluster) -> ClusterRow:
    """Return a cluster with the state of each kind; no query."""
    return ClusterRow(cluster, _kinds(cluster))


def _kinds(cluster: Cluster) -> tuple[KindState, ...]:
    names = [kind.kind for kind in WATCHED]
    if cluster.kind == Cluster.Kind.OFFLINE:
        return tuple(KindState(name, "loaded", "") for name in names)
    told = cluster.kinds
    return tuple(
        KindState(name, str(entry.get("state", "")), str(entry.get("message", "")))
        for name in [*names, *sorted(set(told) - set(names))]
        if isinstance(entry := told.get(name, {}), dict)
    )


def owners_of(cluster: str) -> dict[str, str]:
    """Return namespace → tenant of a cluster; one query.

    Whoever shows it decides first, by a Viewer, whose names may be seen.
    """
    return dict(
        TenantNamespace.objects.filter(cluster=cluster).values_list(
            "namespace", "tenant__name"
        )
    )


def tenants_seen_by(user: User) -> list[str] | None:
    """Return the tenants whose figures a person may see, None for all; one query."""
    if user.may(Permission.SEE_HOLDERS):
        return None
    return sorted(user.tenants.values_list("name", flat=True))


def viewer_of(user: User, cluster: str) -> Viewer:
    """Return what a person may see of a cluster's holders; one query."""
    return Viewer(
        frozenset(namespaces_of(user, cluster)), user.may(Permission.SEE_HOLDERS)
    )
