"""Pods and what makes them: names that they cannot have, claims that too many share."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding, ObjectFinding
from claims.domain.checks.world import name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.world import World

Json = dict[str, Any]
Claim = tuple[str, str]

MOST_RESERVED = 256
LONGEST_LABEL = 63
WORKLOADS = (
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
    "Job",
    "CronJob",
    "DaemonSet",
)
_FINISHED = ("Succeeded", "Failed")
_ENDED = ("Complete", "Failed")


def workload_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield names that pods cannot have, and claims shared by too many pods."""
    sharing = _sharing(world)
    for kind in ("Pod", *WORKLOADS):
        for body in world.objects.get(kind, []):
            where = (kind, namespace_of(body), name_of(body))
            spec, path = pod_spec_of(body, kind)
            for i, entry in enumerate(spec.get("resourceClaims") or []):
                if not isinstance(entry, dict):
                    continue
                at = f"{path}.resourceClaims[{i}]"
                for finding in _name(entry, at):
                    yield ObjectFinding(*where, finding)
                if kind != "Pod" and not _is_owned(body):
                    own = _pods(body, kind, world)
                    total = sharing[namespace_of(body), _shared(entry)]
                    for finding in _reserved(entry, at, own, total):
                        yield ObjectFinding(*where, finding)


def claim_users(world: World) -> Iterator[ObjectFinding]:
    """Yield, once each, the claims that too many pods of no workload would share.

    Those that hold a place already count with those that want one.
    """
    by_workload = {
        (namespace_of(body), _shared(entry))
        for kind in WORKLOADS
        for body in world.objects.get(kind, [])
        if not _is_owned(body)
        for entry in _entries(body, kind)
    }
    users: defaultdict[Claim, set[str]] = defaultdict(set)
    for body in world.objects.get("Pod", []):
        if _is_owned(body) or _is_finished(body):
            continue
        for entry in _entries(body, "Pod"):
            users[namespace_of(body), _shared(entry)].add(name_of(body))
    for (namespace, name), pods in sorted(users.items()):
        claim = world.find("ResourceClaim", namespace, name) or {}
        reserved = (claim.get("status") or {}).get("reservedFor") or []
        count = len(pods | {str(user.get("name")) for user in reserved})
        if count > MOST_RESERVED and (namespace, name) not in by_workload:
            values = {"claim": name, "pods": count, "limit": MOST_RESERVED}
            finding = Finding("claim.reserved_for_limit", "", values)
            yield ObjectFinding("ResourceClaim", namespace, name, finding)


def _entries(body: Json, kind: str) -> Iterator[Json]:
    """Yield what a workload's pods have under resourceClaims that names a claim."""
    spec, _path = pod_spec_of(body, kind)
    for entry in spec.get("resourceClaims") or []:
        if isinstance(entry, dict) and _shared(entry):
            yield entry


def _is_finished(body: Json) -> bool:
    return (body.get("status") or {}).get("phase") in _FINISHED


def _sharing(world: World) -> Counter[Claim]:
    """Return how many pods name each claim: those of workloads, and bare ones.

    What another workload owns is counted with its owner.
    """
    counts: Counter[Claim] = Counter()
    for kind in ("Pod", *WORKLOADS):
        for body in world.objects.get(kind, []):
            if _is_owned(body) or _is_finished(body):
                continue
            for entry in _entries(body, kind):
                key = namespace_of(body), _shared(entry)
                counts[key] += _pods(body, kind, world)
    return counts


def _shared(entry: Json) -> str:
    return str(entry.get("resourceClaimName") or "")


def _is_owned(body: Json) -> bool:
    owners = (body.get("metadata") or {}).get("ownerReferences")
    return isinstance(owners, list) and any(
        isinstance(owner, dict) and owner.get("controller") for owner in owners
    )


def pod_spec_of(body: Json, kind: str) -> tuple[Json, str]:
    """Return the spec of a workload's pods, and where it stands."""
    steps = {
        "Pod": ["spec"],
        "CronJob": ["spec", "jobTemplate", "spec", "template", "spec"],
    }
    node: Any = body
    path = steps.get(kind, ["spec", "template", "spec"])
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return (node if isinstance(node, dict) else {}), ".".join(path)


def _name(entry: Json, path: str) -> Iterator[Finding]:
    name = str(entry.get("name", ""))
    if len(name) > LONGEST_LABEL:
        values = {"name": name, "length": len(name), "limit": LONGEST_LABEL}
        yield Finding("name.too_long", f"{path}.name", values)


def _reserved(entry: Json, path: str, own: int, total: int) -> Iterator[Finding]:
    if not _shared(entry) or total <= MOST_RESERVED:
        return
    values = {"claim": _shared(entry), "pods": total, "limit": MOST_RESERVED}
    variant = "" if own > MOST_RESERVED else "together"
    yield Finding(
        "claim.reserved_for_limit", f"{path}.resourceClaimName", values, variant
    )


def _pods(body: Json, kind: str, world: World) -> int:
    """Return how many pods a workload runs at once, as far as it says so."""
    spec = body.get("spec") or {}
    if kind == "Pod":
        return 1
    if kind == "DaemonSet":
        said = (body.get("status") or {}).get("desiredNumberScheduled")
        count = said if said is not None else len(world.objects.get("Node", []))
    elif kind == "Job":
        count = 0 if _is_at_rest(body) else spec.get("parallelism", 1)
    elif kind == "CronJob":
        count = ((spec.get("jobTemplate") or {}).get("spec") or {}).get(
            "parallelism", 1
        )
    else:
        count = spec.get("replicas", 1)
    return max(count, 0) if isinstance(count, int) else 1


def _is_at_rest(job: Json) -> bool:
    """Return whether a Job has ended, or is suspended, so that it has no pods."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return (job.get("spec") or {}).get("suspend") is True or any(
        each.get("type") in _ENDED and each.get("status") == "True"
        for each in conditions
    )
