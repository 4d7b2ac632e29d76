"""Read a real cluster as the portal does, at once: what the watcher does in time."""

from __future__ import annotations

import contextlib
from typing import Any

from django.utils import timezone

from inventory.domain.kinds import WATCHED
from inventory.domain.trim import trimmed
from inventory.gateways.errors import KubeError, NotServed
from inventory.gateways.identity import AS_ITSELF
from inventory.models import Cluster
from inventory.services.connections import kube_for
from inventory.services.store import replace_kinds

ENGINE_KINDS = frozenset(
    {"DeviceClass", "ResourceSlice", "DeviceTaintRule", "Node", "ResourceClaim"}
)


def read(cluster: Cluster, kinds: frozenset[str] = ENGINE_KINDS) -> None:
    """Write down what a cluster holds of some kinds; no kinds for all."""
    kube = kube_for(cluster, AS_ITSELF)
    lists: dict[str, list[Any]] = {}
    for kind in WATCHED:
        if not kinds or kind.kind in kinds:
            with contextlib.suppress(NotServed, KubeError):
                kept = map(trimmed, kube.list(kind).items)
                lists[kind.kind] = [each for each in kept if each]
    now = timezone.now()
    replace_kinds(cluster, lists, now=now, guard=False)
    Cluster.objects.filter(pk=cluster.pk).update(heard_at=now)
    cluster.refresh_from_db()
