"""Make in the cluster what a plan says, exactly once however often it is tried.

What is there already is looked for before anything is made, so that a worker that
died after the API server said yes loses nothing. Nothing here runs inside a
transaction.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from claims.domain.lifecycle import State
from claims.domain.manifest import (
    ADMIN_LABEL,
    asks_admin_access,
    changed_fields,
    digest_of,
    ordered,
    request_id_of,
)
from claims.services import faults
from claims.services.acting import as_itself, as_requester
from claims.services.gate import the_gate
from claims.services.moving import WORKER, move
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import AlreadyExists, ConflictingVersion, NotFound
from portal.accounts.queries import groups_of
from portal.core.errors import PortalError
from portal.core.sentences import Said

if TYPE_CHECKING:
    from claims.models import ClaimPlan, ClaimRequest
    from inventory.gateways.kube import Kube

Json = dict[str, Any]


class ApplyFailed(PortalError):
    """The plan cannot be applied, and trying again cannot help."""

    code = "apply.failed"


class NotYet(PortalError):
    """Something else has to end first; it is tried again."""

    code = "apply.not_yet"
    permanent = False


def apply(claim_request: ClaimRequest, *, now: datetime) -> None:
    """Make the object of a leased request, or find it made, and record it Active.

    What is to be made is judged again: the person, the approval and the classes.

    Raises:
        PortalError: It was not made; `permanent` says whether it ever will be.
    """
    reader = as_itself(claim_request)
    found = _find(reader, claim_request.plan)
    if found is None:
        _check_person(claim_request)
        the_gate().check_apply(claim_request, now=now)
        _check_label(reader, claim_request.plan)
        _check_classes(reader, claim_request.plan)
        found = _create(claim_request, reader)
    _check_found(claim_request, found)
    uid = found["metadata"]["uid"]
    move(claim_request, State.ACTIVE, actor=WORKER, now=now, object_uid=uid)
    faults.reach(faults.RECORDED)


def fail(claim_request: ClaimRequest, error: PortalError, *, now: datetime) -> bool:
    """Record that a request cannot be applied, in the error's own words."""
    return move(
        claim_request,
        State.APPLY_FAILED,
        actor=WORKER,
        reason=error.code,
        now=now,
        message=error.said or error.message,
    )


def _find(reader: Kube, plan: ClaimPlan) -> Json | None:
    try:
        return reader.get(BY_NAME[plan.kind], plan.name, plan.namespace)
    except NotFound:
        return None


def _create(claim_request: ClaimRequest, reader: Kube) -> Json:
    plan = claim_request.plan
    faults.reach(faults.BEFORE_CREATE)
    try:
        made = as_requester(claim_request).create(ordered(plan.manifest), strict=True)
    except AlreadyExists as error:
        found = _find(reader, plan)
        if found is None:
            raise NotYet(Said("apply.not_yet.name", {"name": plan.name})) from error
        return found
    faults.reach(faults.CREATED)
    return made


def _check_person(claim_request: ClaimRequest) -> None:
    """Refuse for someone who is no longer who they were when they asked."""
    requester = claim_request.requester
    lost = set(claim_request.acting_groups) - set(groups_of(requester))
    if not requester.is_active or claim_request.tenant.group in lost:
        raise ApplyFailed(
            Said(
                "apply.person_changed",
                {"user": requester.username, "tenant": claim_request.tenant.name},
            ),
            code="apply.person_changed",
        )


def _check_label(reader: Kube, plan: ClaimPlan) -> None:
    """Refuse adminAccess in a namespace that is not labelled for it, now."""
    if not asks_admin_access(plan.manifest):
        return
    metadata = reader.get(BY_NAME["Namespace"], plan.namespace)["metadata"]
    if (metadata.get("labels") or {}).get(ADMIN_LABEL) != "true":
        raise ApplyFailed(
            Said(
                "apply.namespace_label",
                {"namespace": plan.namespace, "label": f'{ADMIN_LABEL}: "true"'},
            ),
            code="admin.namespace_label",
        )


def _check_classes(reader: Kube, plan: ClaimPlan) -> None:
    """Refuse where a device class is not the one that the preview saw."""
    for pin in plan.class_pins:
        try:
            metadata = reader.get(BY_NAME["DeviceClass"], pin["name"])["metadata"]
        except NotFound:
            metadata = {}
        now = (metadata.get("uid"), metadata.get("generation"))
        if now != (pin["uid"], pin["generation"]):
            raise ApplyFailed(
                Said("apply.class_changed", {"name": pin["name"]}),
                code="apply.class_changed",
            )


def _check_found(claim_request: ClaimRequest, found: Json) -> None:
    """Refuse an object of that name that is not ours, or not what was shown."""
    plan = claim_request.plan
    if request_id_of(found) != str(claim_request.public_id):
        raise ApplyFailed(
            Said(
                "apply.name_taken",
                {"kind": plan.kind, "name": plan.name, "namespace": plan.namespace},
            ),
            code="apply.name_taken",
        )
    if found["metadata"].get("deletionTimestamp"):
        raise NotYet(Said("apply.not_yet.deleting", {"name": plan.name}))
    if digest_of(found) != plan.digest:
        _take_back(claim_request, found)
        paths = changed_fields(ordered(plan.defaulted), found)
        raise ApplyFailed(
            Said("apply.field_dropped", {"fields": ", ".join(paths) or "spec"}),
            code="apply.field_dropped",
        )


def _take_back(claim_request: ClaimRequest, found: Json) -> None:
    plan, uid = claim_request.plan, found["metadata"]["uid"]
    try:
        as_requester(claim_request).delete(
            BY_NAME[plan.kind], plan.name, plan.namespace, uid=uid
        )
    except (NotFound, ConflictingVersion):
        return
