"""Who may set the label of administrative access, as the cluster's RBAC says.

Whoever may update or patch a namespace may label it. Rights that come from other
authorizers, or from an impersonated group, are not in RBAC and not here.

Source: rbac.authorization.k8s.io/v1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inventory.domain.kinds import Kind
from inventory.gateways.identity import AS_ITSELF
from inventory.models import Cluster
from inventory.services.connections import kube_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Kind("ClusterRole", "clusterroles", _GROUP, ("v1",), False)
CLUSTER_BINDINGS = Kind(
    "ClusterRoleBinding", "clusterrolebindings", _GROUP, ("v1",), False
)
ROLES = Kind("Role", "roles", _GROUP, ("v1",), True)
BINDINGS = Kind("RoleBinding", "rolebindings", _GROUP, ("v1",), True)
# A page that is redrawn with every event does not read RBAC each time.
KEPT_SECONDS = 30.0
WRITING = frozenset({"update", "patch", "*"})


@dataclass(frozen=True, slots=True)
class Setter:
    """Somebody who may set the label, and the binding that lets them.

    Attributes:
        subject: such as "User dora", "Group system:masters".
        within: the one namespace that it is for, or "" for all.
    """

    subject: str
    by: str
    within: str = ""


_kept: dict[int, tuple[float, list[Setter] | None]] = {}


def setters_in(cluster: Cluster) -> list[Setter] | None:
    """Return who may label namespaces there; None where that cannot be read."""
    if cluster.kind == Cluster.Kind.OFFLINE:
        return None
    kept = _kept.get(cluster.pk)
    if kept is None or time.monotonic() - kept[0] > KEPT_SECONDS:
        kept = _kept[cluster.pk] = (time.monotonic(), _read(cluster))
    return kept[1]


def _read(cluster: Cluster) -> list[Setter] | None:
    reader = kube_for(cluster, AS_ITSELF)
    try:
        roles = [*reader.list(CLUSTER_ROLES).items, *reader.list(ROLES).items]
        bindings = [*reader.list(CLUSTER_BINDINGS).items, *reader.list(BINDINGS).items]
    except PortalError:
        return None
    return setters_of(roles, bindings)


def setters_of(roles: Iterable[Json], bindings: Iterable[Json]) -> list[Setter]:
    """Return the subjects whose bindings give a right to write namespaces, by name."""
    writing = {_key(role): role for role in roles if _may_write(role)}
    found = {
        Setter(subject, f"{body['kind']} {body['metadata']['name']}", within)
        for body in bindings
        if (within := _within(body, writing)) is not None
        for subject in _subjects(body)
    }
    return sorted(found, key=lambda each: (each.subject, each.by, each.within))


def _key(role: Json) -> tuple[str, str, str]:
    metadata = role["metadata"]
    return str(role.get("kind")), str(metadata.get("namespace") or ""), metadata["name"]


def _may_write(role: Json) -> bool:
    for rule in role.get("rules") or []:
        groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
        verbs = set(rule.get("verbs") or [])
        if (
            {"", "*"} & set(groups)
            and {"namespaces", "*"} & set(resources)
            and verbs & WRITING
        ):
            return True
    return False


def _within(body: Json, writing: dict[tuple[str, str, str], Json]) -> str | None:
    """Return where a binding gives the right: "" for everywhere, None for nowhere."""
    ref = body.get("roleRef") or {}
    space = str(body["metadata"].get("namespace") or "")
    of = "" if ref.get("kind") == "ClusterRole" else space
    if (str(ref.get("kind")), of, str(ref.get("name"))) not in writing:
        return None
    return space


def _subjects(body: Json) -> Iterator[str]:
    for subject in body.get("subjects") or []:
        name = str(subject.get("name", ""))
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        yield f"{subject.get('kind', '')} {name}"
