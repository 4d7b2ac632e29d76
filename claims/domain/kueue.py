"""Kueue's objects, as far as a claim's page speaks of them.

Source: kueue.x-k8s.io v1beta1 and v1beta2, Workload and LocalQueue.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from claims.domain.manifest import TEMPLATE

Json = dict[str, Any]

_JOB_UID = "kueue.x-k8s.io/job-uid"


class Admission(StrEnum):
    """How far a Workload is."""

    PENDING = "pending"  # waits for quota
    RESERVED = "reserved"  # has quota, waits for admission checks
    ADMITTED = "admitted"  # may run
    EVICTED = "evicted"  # lost its quota, for one of higher priority or by a check
    INACTIVE = "inactive"  # somebody stopped it
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Queued:
    """A Workload of Kueue's.

    Attributes:
        queue: its LocalQueue, "" where none is named.
        cluster_queue: that gave it quota, "" before.
        message: Kueue's own words.
        priority: a number, or None where none is set.
        priority_class: by name, or "".
    """

    name: str
    queue: str
    cluster_queue: str
    state: Admission
    message: str
    priority: int | None
    priority_class: str


@dataclass(frozen=True, slots=True)
class Queue:
    """A LocalQueue.

    Attributes:
        pending, admitted: workloads in it, or None where it does not say.
        active: whether it takes workloads; None where it does not say.
        message: why it does not.
    """

    name: str
    cluster_queue: str
    pending: int | None
    admitted: int | None
    active: bool | None
    message: str


@dataclass(frozen=True, slots=True)
class Sought:
    """What a Workload is known by: claims or templates by name, owners by uid."""

    names: frozenset[tuple[str, str]] = frozenset()  # (kind, name)
    uids: frozenset[str] = frozenset()


def belongs(body: Json, sought: Sought) -> bool:
    """Return whether a Workload is that of an object, or uses its claims."""
    metadata = _dict(body.get("metadata"))
    uids = {str(each.get("uid")) for each in _dicts(metadata.get("ownerReferences"))}
    uids.add(str(_dict(metadata.get("labels")).get(_JOB_UID)))
    if uids & sought.uids:
        return True
    used = set()
    for podset in _dicts(_dict(body.get("spec")).get("podSets")):
        pod = _dict(_dict(podset.get("template")).get("spec"))
        for entry in _dicts(pod.get("resourceClaims")):
            used.add((TEMPLATE, str(entry.get("resourceClaimTemplateName"))))
            used.add(("ResourceClaim", str(entry.get("resourceClaimName"))))
    return bool(used & sought.names)


def queued_of(body: Json) -> Queued:
    """Return a Workload, read."""
    metadata, spec = _dict(body.get("metadata")), _dict(body.get("spec"))
    status = _dict(body.get("status"))
    state, message = _state(spec, status)
    reference = _dict(spec.get("priorityClassRef"))
    priority = spec.get("priority")
    return Queued(
        name=str(metadata.get("name") or ""),
        queue=str(spec.get("queueName") or ""),
        cluster_queue=str(_dict(status.get("admission")).get("clusterQueue") or ""),
        state=state,
        message=message,
        priority=priority if isinstance(priority, int) else None,
        priority_class=str(
            reference.get("name") or spec.get("priorityClassName") or ""
        ),
    )


def queue_of(body: Json) -> Queue:
    """Return a LocalQueue, read."""
    metadata, spec = _dict(body.get("metadata")), _dict(body.get("spec"))
    status = _dict(body.get("status"))
    active = _conditions(status).get("Active")
    return Queue(
        name=str(metadata.get("name") or ""),
        cluster_queue=str(spec.get("clusterQueue") or ""),
        pending=_number(status.get("pendingWorkloads")),
        admitted=_number(status.get("admittedWorkloads")),
        active=None if active is None else active.get("status") == "True",
        message=str((active or {}).get("message") or ""),
    )


def _state(spec: Json, status: Json) -> tuple[Admission, str]:
    """Return how far a Workload is, and what Kueue says of it."""
    found = _conditions(status)
    for state, name in (
        (Admission.FINISHED, "Finished"),
        (Admission.ADMITTED, "Admitted"),
        (Admission.RESERVED, "QuotaReserved"),
        (Admission.EVICTED, "Evicted"),
    ):
        if found.get(name, {}).get("status") == "True":
            return state, str(found[name].get("message") or "")
    if spec.get("active") is False:
        return Admission.INACTIVE, ""
    return Admission.PENDING, str(found.get("QuotaReserved", {}).get("message") or "")


def _conditions(status: Json) -> dict[str, Json]:
    return {str(each.get("type")): each for each in _dicts(status.get("conditions"))}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Json]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
