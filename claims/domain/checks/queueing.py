"""What Kueue's quota for devices takes: exact counts, through templates.

Source: kubernetes-sigs/kueue, how a Workload's claims are charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding, ObjectFinding
from claims.domain.checks.workloads import WORKLOADS, pod_spec_of
from claims.domain.checks.world import name_of, namespace_of
from claims.domain.manifest import TEMPLATE
from claims.domain.snippets import QUEUE_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Asked
    from claims.domain.checks.world import World

Json = dict[str, Any]

# On a pod whose Job waits in a queue, Kueue leaves no queue but this.
_OF_A_QUEUE = (QUEUE_LABEL, "kueue.x-k8s.io/podset")
_NAMED = "resourceClaimName"


def queue_findings(asked: Asked, world: World) -> Iterator[Finding]:
    """Yield what Kueue refuses of a template that a queued workload uses."""
    body = asked.manifest
    if body.get("kind") != TEMPLATE:
        return
    used = {
        (namespace_of(each), entry.get("resourceClaimTemplateName"))
        for _kind, each, _path, entry in _queued(world)
    }
    if (namespace_of(body), name_of(body)) in used:
        yield from refused_by_kueue(asked)


def refused_by_kueue(asked: Asked) -> Iterator[Finding]:
    """Yield what Kueue refuses of a claim or template, whoever uses it."""
    for _name, path, asks in asked.requests:
        if any(ask.sub for ask in asks):
            where = f"{path}.firstAvailable"
            yield Finding("kueue.unsupported", where, {}, "list")
        for ask in asks:
            if ask.is_all and not ask.sub:
                where = f"{ask.path}.allocationMode"
                yield Finding("kueue.unsupported", where, {}, "all")


def queued_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield claims by name in queued workloads: Kueue does not count them."""
    for kind, body, path, entry in _queued(world):
        if entry.get(_NAMED):
            values = {"claim": str(entry[_NAMED])}
            finding = Finding("kueue.unsupported", f"{path}.{_NAMED}", values, "claim")
            yield ObjectFinding(kind, namespace_of(body), name_of(body), finding)


def is_queued(body: Json) -> bool:
    """Return whether a workload or pod waits, or waited, in a queue of Kueue's."""
    labels = (body.get("metadata") or {}).get("labels") or {}
    return any(label in labels for label in _OF_A_QUEUE)


def _queued(world: World) -> Iterator[tuple[str, Json, str, Json]]:
    """Yield kind, object, path and entry of each claim of a queued workload."""
    for kind in ("Pod", *WORKLOADS):
        for body in world.objects.get(kind, []):
            if not is_queued(body):
                continue
            spec, path = pod_spec_of(body, kind)
            for i, entry in enumerate(spec.get("resourceClaims") or []):
                if isinstance(entry, dict):
                    yield kind, body, f"{path}.resourceClaims[{i}]", entry
