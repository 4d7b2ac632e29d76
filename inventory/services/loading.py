"""Offline clusters: loaded whole from files, or not at all."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import DataError, transaction
from django.utils.translation import gettext as _

from inventory.domain import gates
from inventory.domain.convert import to_v1
from inventory.domain.shapes import fault_of
from inventory.domain.trim import trimmed
from inventory.models import Cluster
from inventory.services.store import replace_kinds
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

Json = dict[str, Any]

CLUSTER_SCOPED = frozenset(
    {
        "Node",
        "Namespace",
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
        "ClusterPolicy",
        "GPUCluster",
    }
)
READ = CLUSTER_SCOPED | {
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
    "Job",
    "CronJob",
    "ComputeDomain",
}
_IDS = uuid.UUID("6f1f1d5e-5c0b-4d4e-8f0d-1c6f0c9a1b10")


class BadInput(PortalError):
    """Objects that make no cluster."""

    code = "inventory.bad_input"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded: objects by kind, and how many of other kinds were left out."""

    cluster: Cluster
    counts: dict[str, int]
    left_out: dict[str, int] = field(default_factory=dict)


def load_cluster(
    name: str,
    objects: Iterable[Json],
    *,
    kubernetes_version: str,
    feature_gates: dict[str, bool],
    now: datetime,
) -> Loaded:
    """Replace an offline cluster by these objects, atomically.

    Raises:
        BadInput: The name is that of a cluster that is not offline, an object
            has no name, two different objects have one, or the version is none.
    """
    try:
        gates.minor_of(kubernetes_version)
    except gates.BadVersion as error:
        raise BadInput(str(error)) from error
    kept, left_out = collect(objects)
    by_kind: dict[str, list[Json]] = {kind: [] for kind in READ}
    for body in [*kept.values(), *_nodes_of_slices(kept)]:
        by_kind[body["kind"]].append(body)
    try:
        with transaction.atomic():
            cluster = _offline(name, kubernetes_version, feature_gates, now)
            replace_kinds(cluster, by_kind, now=now, guard=False)
    except (DataError, UnicodeEncodeError) as error:
        raise BadInput(
            _(
                "An object cannot be stored: it holds a character or a number that"
                " no Kubernetes object has."
            )
        ) from error
    counts = {kind: len(bodies) for kind, bodies in sorted(by_kind.items()) if bodies}
    return Loaded(cluster, counts, dict(left_out))


def collect(
    objects: Iterable[Json],
) -> tuple[dict[tuple[str, str, str], Json], Counter[str]]:
    """Return the objects that we read by key, in v1 shape, and counts of others.

    Raises:
        BadInput: An object has no name, or two different ones have one.
    """
    kept: dict[tuple[str, str, str], Json] = {}
    left_out: Counter[str] = Counter()
    for original in objects:
        kind = str(original.get("kind"))
        if kind not in READ:
            left_out[kind] += 1
            continue
        body = named(to_v1(original))
        if kind == "Pod":
            needed = trimmed(body)
            if needed is None:
                left_out["Pod without devices"] += 1
                continue
            body = needed
        key = key_of(body)
        if kept.setdefault(key, body) != body:
            raise BadInput(
                _("Two different objects are called %(key)s: leave one out.")
                % {"key": " ".join(filter(None, key))}
            )
    return kept, left_out


def key_of(body: Json) -> tuple[str, str, str]:
    """Return kind, namespace and name of an object that `named` returned."""
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]


def named(body: Json, *, namespace: str = "default") -> Json:
    """Return an object with a namespace where its kind has one, and with a uid.

    Raises:
        BadInput: It has no name, or a value of the wrong kind.
    """
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = body["kind"]
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise BadInput(
            _("An object of kind %(kind)s has no metadata.name.") % {"kind": kind}
        )
    if fault := fault_of(body):
        raise BadInput(
            _("%(kind)s %(name)s: %(path)s must be of type %(expected)s.")
            % {"kind": kind, "name": name, "path": fault[0], "expected": fault[1]}
        )
    metadata = {key: value for key, value in metadata.items() if key != "managedFields"}
    if kind in CLUSTER_SCOPED:
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = metadata.get("namespace") or namespace
    if not metadata.get("uid"):
        key = f"{kind}/{metadata.get('namespace', '')}/{name}"
        metadata["uid"] = str(uuid.uuid5(_IDS, key))
    return {**body, "metadata": metadata}


def _offline(
    name: str, version: str, feature_gates: dict[str, bool], now: datetime
) -> Cluster:
    cluster, made = Cluster.objects.select_for_update().get_or_create(
        name=name, defaults={"kind": Cluster.Kind.OFFLINE}
    )
    if not made and cluster.kind != Cluster.Kind.OFFLINE:
        raise BadInput(
            _(
                "%(name)s is a %(kind)s cluster: files would overwrite it. Choose another name."
            )
            % {"name": name, "kind": cluster.get_kind_display()}
        )
    cluster.kubernetes_version = version.removeprefix("v")
    cluster.feature_gates = feature_gates
    cluster.heard_at = now
    cluster.save(update_fields=["kubernetes_version", "feature_gates", "heard_at"])
    return cluster


def _nodes_of_slices(kept: dict[tuple[str, str, str], Json]) -> list[Json]:
    """Return a Node for each nodeName of the slices, where there are no Nodes."""
    if any(kind == "Node" for kind, _namespace, _name in kept):
        return []
    names: set[str] = set()
    for (kind, _namespace, _name), body in kept.items():
        spec = body.get("spec")
        if kind != "ResourceSlice" or not isinstance(spec, dict):
            continue
        names.add(spec.get("nodeName") or "")
        names.update(
            device.get("nodeName") or ""
            for device in spec.get("devices") or []
            if isinstance(device, dict)
        )
    return [
        named(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            }
        )
        for name in sorted(names - {""})
    ]
