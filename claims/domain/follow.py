"""What became of a template or a claim in its cluster, from the objects alone.

Claims made from a template belong to a pod: the owner reference, the annotation
`resource.kubernetes.io/pod-claim-name` and the pod's
`status.resourceClaimStatuses` say which. A pod that names a claim itself has no
status entry: its spec says so.

Source: resource.k8s.io/v1 ResourceClaimStatus; core/v1 PodSpec.resourceClaims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from claims.domain.manifest import TEMPLATE, request_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Body = Mapping[str, Any]

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
FINISHED = frozenset({"Succeeded", "Failed"})


class ClaimState(StrEnum):
    """Where a claim stands in the cluster."""

    PENDING = "Pending"  # no devices yet
    ALLOCATED = "Allocated"  # devices, and a pod about to use them
    RESERVED = "Reserved"  # in use by at least one pod
    UNRESERVED = "Unreserved"  # devices held, used by no pod
    TERMINATING = "Terminating"  # deleted, waits for its finalizers


class ObjectState(StrEnum):
    """Whether the applied object is still what was applied."""

    PRESENT = "Present"
    TERMINATING = "Terminating"
    MISSING = "Missing"  # gone, or another of that name: drift
    UNSEEN = "Unseen"  # the watcher has not come that far


@dataclass(frozen=True)
class HeldDevice:
    """A device, or a share of one, that a claim holds."""

    request: str  # "request" or "request/subrequest"
    driver: str
    pool: str
    device: str
    consumed: tuple[tuple[str, str], ...]  # (capacity key, quantity)
    is_share: bool
    admin_access: bool

    @property
    def label(self) -> str:
        """The device as the API names it: driver/pool/device."""
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True)
class PodUse:
    """A pod that uses the claim or the template."""

    name: str
    uid: str
    phase: str
    node: str  # "" until it is scheduled
    terminating: bool
    waiting: str  # the scheduler's or controller's own words, or ""


@dataclass(frozen=True)
class FollowedClaim:
    """One claim and how far it is.

    Attributes:
        implicit: the scheduler made it for a pod's extended resources.
        resources: of those, what is known, such as nvidia.com/gpu.
        body: the claim itself, for what depends on the moment too.
    """

    namespace: str
    name: str
    uid: str
    state: ClaimState
    pods: tuple[str, ...]  # that it is reserved for, or that own it
    node: str
    devices: tuple[HeldDevice, ...]
    waiting: str = ""  # why its pod is not scheduled, in the scheduler's words
    implicit: bool = False
    resources: tuple[str, ...] = ()
    body: Body = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Following:
    """What is known of an applied object: itself, its claims and their pods."""

    state: ObjectState
    claims: tuple[FollowedClaim, ...]
    pods: tuple[PodUse, ...]


@dataclass(frozen=True)
class Applied:
    """The object that a request made, by name, and the request's id in its labels."""

    kind: str
    name: str
    request_id: str


def follow(
    applied: Applied,
    state: ObjectState,
    *,
    claims: Iterable[Body],
    pods: Iterable[Body],
) -> Following:
    """Return the claims and pods of an object, each sorted by name.

    `claims` and `pods` are those of its namespace, its own claim among them.
    """
    users = users_of(applied, pods)
    by_uid = {pod["metadata"]["uid"]: pod for pod in users}
    found = [followed(claim, by_uid) for claim in claims_of(applied, users, claims)]
    return Following(
        state=state,
        claims=tuple(sorted(found, key=lambda one: one.name)),
        pods=tuple(sorted(map(_pod_use, users), key=lambda one: one.name)),
    )


def users_of(applied: Applied, pods: Iterable[Body]) -> list[Body]:
    """Return the pods whose spec names this template or this claim."""
    return [pod for pod in pods if refs_to(applied, pod)]


def refs_to(applied: Applied, pod: Body) -> frozenset[str]:
    """Return the names that a pod's spec gives to its uses of the object."""
    is_template = applied.kind == TEMPLATE
    field = "resourceClaimTemplateName" if is_template else "resourceClaimName"
    return frozenset(
        ref["name"]
        for ref in pod["spec"].get("resourceClaims") or []
        if ref.get(field) == applied.name
    )


def claims_of(
    applied: Applied, users: Iterable[Body], claims: Iterable[Body]
) -> list[Body]:
    """Return the claim itself, or the claims that were made from the template.

    Those are owned by a pod under the name that its spec gives to the template,
    or stand in its status; or they carry our label and their pod is gone.
    """
    if applied.kind != TEMPLATE:
        return [one for one in claims if one["metadata"]["name"] == applied.name]
    refs = {pod["metadata"]["uid"]: refs_to(applied, pod) for pod in users}
    named = {
        status.get("resourceClaimName")
        for pod in users
        for status in (pod.get("status") or {}).get("resourceClaimStatuses") or []
        if status.get("name") in refs[pod["metadata"]["uid"]]
    }
    return [
        claim
        for claim in claims
        if claim["metadata"]["name"] in named or _is_made_from(applied, claim, refs)
    ]


def _is_made_from(
    applied: Applied, claim: Body, refs: Mapping[str, frozenset[str]]
) -> bool:
    owner = owner_pod_uid(claim)
    if owner in refs:
        annotations = claim["metadata"].get("annotations") or {}
        return annotations.get(POD_CLAIM_NAME) in refs[owner]
    return bool(owner) and request_id_of(claim) == applied.request_id


def owner_pod_uid(claim: Body) -> str:
    """Return the uid of the pod that a claim was made for, or an empty text."""
    for owner in claim["metadata"].get("ownerReferences") or []:
        if owner.get("kind") == "Pod":
            return str(owner["uid"])
    return ""


def followed(claim: Body, pods_by_uid: Mapping[str, Body]) -> FollowedClaim:
    """Return one claim as it stands; pods are those that could use it."""
    metadata, status = claim["metadata"], claim.get("status") or {}
    reserved = [ref.get("name", "") for ref in status.get("reservedFor") or []]
    owner = pods_by_uid.get(owner_pod_uid(claim))
    names = reserved or ([owner["metadata"]["name"]] if owner else [])
    return FollowedClaim(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        state=state_of(claim, owner),
        pods=tuple(sorted(names)),
        node=_node_of(claim, owner),
        devices=held_devices(claim),
        waiting=_waiting(owner.get("status") or {}) if owner else "",
        implicit=is_implicit(claim),
        resources=tuple(_mapped(claim, owner)) if owner else (),
        body=claim,
    )


def is_implicit(claim: Body) -> bool:
    """Return whether the scheduler made a claim for a pod's extended resources."""
    notes = claim["metadata"].get("annotations") or {}
    return bool(notes.get(EXTENDED) == "true")


def _mapped(claim: Body, owner: Body) -> list[str]:
    """Return the extended resources of a pod that a claim stands for.

    Source: core/v1 PodExtendedResourceClaimStatus.requestMappings.
    """
    status = (owner.get("status") or {}).get("extendedResourceClaimStatus") or {}
    if status.get("resourceClaimName") != claim["metadata"]["name"]:
        return []
    rows = status.get("requestMappings") or []
    return sorted({str(row["resourceName"]) for row in rows if row.get("resourceName")})


def state_of(claim: Body, owner: Body | None) -> ClaimState:
    """Return where a claim stands.

    Allocated without a reservation means about to be used where its pod still
    runs or waits, else held by nobody.
    """
    status = claim.get("status") or {}
    if claim["metadata"].get("deletionTimestamp"):
        return ClaimState.TERMINATING
    if not status.get("allocation"):
        return ClaimState.PENDING
    if status.get("reservedFor"):
        return ClaimState.RESERVED
    return ClaimState.ALLOCATED if _is_live(owner) else ClaimState.UNRESERVED


def _is_live(pod: Body | None) -> bool:
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        return False
    return (pod.get("status") or {}).get("phase") not in FINISHED


def held_devices(claim: Body) -> tuple[HeldDevice, ...]:
    """Return what a claim holds, in the allocator's order; nothing while pending."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or []
    return tuple(
        HeldDevice(
            request=result["request"],
            driver=result["driver"],
            pool=result["pool"],
            device=result["device"],
            consumed=tuple(sorted((result.get("consumedCapacity") or {}).items())),
            is_share=bool(result.get("shareID")),
            admin_access=result.get("adminAccess") is True,
        )
        for result in results
    )


def _node_of(claim: Body, owner: Body | None) -> str:
    """Return the node of a claim: its pod's, else the one its allocation names."""
    if owner and owner["spec"].get("nodeName"):
        return str(owner["spec"]["nodeName"])
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for term in (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []:
        for wanted in term.get("matchFields") or []:
            if wanted.get("key") == "metadata.name" and len(wanted["values"]) == 1:
                return str(wanted["values"][0])
    return ""


def _pod_use(pod: Body) -> PodUse:
    metadata, status = pod["metadata"], pod.get("status") or {}
    return PodUse(
        name=metadata["name"],
        uid=metadata["uid"],
        phase=status.get("phase") or "Unknown",
        node=pod["spec"].get("nodeName") or "",
        terminating=bool(metadata.get("deletionTimestamp")),
        waiting=_waiting(status),
    )


def _waiting(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition["status"] != "True":
            return str(condition.get("message") or condition.get("reason") or "")
    return ""
