"""Templates that a person may read: their own, and others' where the cluster lets them.

The cluster is asked as the person, by SelfSubjectAccessReview, and only of namespaces
that have templates; its answer is kept for a minute. What it lets nobody read here is
neither shown nor counted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.compute_domains import OWNED_LABEL
from claims.domain.manifest import TEMPLATE, request_id_of
from inventory.domain.kinds import BY_NAME
from inventory.gateways.identity import Identity
from inventory.models import Cluster, KubeObject
from inventory.services.connections import kube_for
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import groups_of, namespaces_of
from portal.core.errors import PortalError
from portal.core.kept import keep, recall

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from portal.accounts.models import User

Json = dict[str, Any]

KEPT_SECONDS = 60
# Reviews for one answer: one a namespace, where the whole cluster is not allowed.
MOST_REVIEWS = 40


@dataclass(frozen=True, slots=True)
class Readable:
    """Whose templates may be read.

    Attributes:
        own: the person's namespaces.
        others: further ones that the cluster lets them list.
        problem: a sentence where the cluster could not be asked about others.
    """

    own: tuple[str, ...]
    others: tuple[str, ...] = ()
    problem: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        """Every namespace whose templates may be read."""
        return (*self.own, *self.others)


def readable_by(user: User, cluster: Cluster) -> Readable:
    """Return whose templates a person may read in a cluster."""
    own = tuple(namespaces_of(user, cluster.name))
    taken = _templates(cluster).exclude(namespace__in=own)
    found = taken.order_by("namespace").values_list("namespace", flat=True)
    candidates = list(dict.fromkeys(found.distinct()))
    if user.may(Permission.SEE_ALL_CLAIMS):
        return Readable(own, tuple(candidates))
    if not candidates or cluster.kind == Cluster.Kind.OFFLINE:
        return Readable(own)
    groups = groups_of(user)
    key = _key(cluster, user, groups, candidates)
    kept: list[str] | None = recall(key)
    if kept is None:
        try:
            kept = _allowed(cluster, Identity(user.username, tuple(groups)), candidates)
        except PortalError as error:
            return Readable(own, (), error.message)
        keep(key, kept, KEPT_SECONDS)
    return Readable(own, tuple(kept))


def _key(cluster: Cluster, user: User, groups: list[str], candidates: list[str]) -> str:
    text = repr((cluster.pk, str(cluster.created_at), user.pk, groups, candidates))
    return f"templates:{hashlib.sha256(text.encode()).hexdigest()}"


def _allowed(cluster: Cluster, identity: Identity, candidates: list[str]) -> list[str]:
    """Return the namespaces whose templates the cluster lets an identity list."""
    kube, kind = kube_for(cluster, identity), BY_NAME[TEMPLATE]
    if kube.review_access("list", kind).allowed:
        return candidates
    asked = candidates[:MOST_REVIEWS]
    return [each for each in asked if kube.review_access("list", kind, each).allowed]


def _templates(cluster: Cluster) -> QuerySet[KubeObject]:
    return KubeObject.objects.filter(cluster=cluster, kind=TEMPLATE, deleted_at=None)


def templates_for(readable: Readable, cluster: Cluster) -> QuerySet[KubeObject]:
    """Return the templates that may be read, by namespace and name."""
    rows = _templates(cluster).filter(namespace__in=readable.all)
    return rows.order_by("namespace", "name")


def template_for(
    user: User, cluster: Cluster, namespace: str, name: str
) -> KubeObject | None:
    """Return one template, or None where there is none that this person may read."""
    found = _templates(cluster).filter(namespace=namespace, name=name).first()
    if found is None:
        return None
    return found if namespace in readable_by(user, cluster).all else None


def keeper_of(body: Json) -> str:
    """Return whose a template is: `domain`, a claim request's id, or ""."""
    if (body["metadata"].get("labels") or {}).get(OWNED_LABEL):
        return "domain"
    return request_id_of(body)
