"""Take what a person composed, have the API server check it, and store it.

What is stored is a plan: the manifest as it will be sent, the spec as the server
defaulted it, and the classes that it names as they are now. The network call
comes first, the transaction after it; one key of a form makes one request.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.domain.manifest import (
    asks_admin_access,
    canonical,
    changed_fields,
    class_names,
    digest_of,
)
from claims.models import ClaimPlan, ClaimRequest
from claims.services import faults
from claims.services.acting import identity_of
from claims.services.gate import Outcome, Ruling, Wish, the_gate
from claims.services.moving import announce, move
from inventory.gateways.errors import AlreadyExists
from inventory.models import Cluster, KubeObject
from inventory.services.connections import kube_for
from portal.accounts.queries import groups_of, namespaces_of, tenant_of
from portal.audit.context import acting
from portal.core.errors import PortalError
from portal.core.wake import wake

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.models import PresetVersion
    from portal.accounts.models import Tenant, User

Json = dict[str, Any]

# Where policy names no limit: as long as a quarter.
LONGEST_HOURS = 24 * 90


class SubmitRefused(PortalError):
    """The portal itself says no, before or after the dry run.

    Attributes:
        paths: the fields that it is about, as Kubernetes writes them.
    """

    code = "submit.refused"

    def __init__(
        self, message: str, *, code: str = "", paths: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code=code or None)
        self.paths = paths


@dataclass(frozen=True)
class _Checked:
    """What a dry run said yes to."""

    sent: Json
    defaulted: Json
    class_pins: list[Json]
    public_id: uuid.UUID
    tenant: Tenant
    groups: list[str]


def sent_before(user: User, submission_key: uuid.UUID) -> ClaimRequest | None:
    """Return the request that this person's form became already, if it did."""
    return ClaimRequest.objects.filter(
        requester=user, submission_key=submission_key
    ).first()


def submit(  # noqa: PLR0913  each is one fact of the form
    *,
    user: User,
    cluster: Cluster,
    manifest: Mapping[str, Any],
    preview: Mapping[str, Any] | None,
    submission_key: uuid.UUID,
    request_id: str,
    now: datetime,
    justification: str = "",
    ends_at: datetime | None = None,
    revises: ClaimRequest | None = None,
    preset_version: PresetVersion | None = None,
) -> ClaimRequest:
    """Check and store a claim or template; return its request.

    It is Submitted, or PendingApproval where somebody has to approve it first.

    Args:
        user: who asks; the dry run is made as this person.
        cluster: where to.
        manifest: a ResourceClaim or ResourceClaimTemplate, v1, or a ComputeDomain.
        preview: what was shown, as JSON: "diagnostics" (each with "level" and
            "message") and "revision" are read, the rest is kept as it is.
        submission_key: the form's own; the same one gives the same request.
        request_id: of the HTTP request, for the audit trail.
        now: the moment of asking.
        justification: why it is needed; wanted where approval is.
        ends_at: when it ends by itself; None for never.
        revises: what it is a new version of, if it is one.
        preset_version: what it was filled from, if from a preset.

    Raises:
        SubmitRefused: The portal says no; `paths` name the fields.
        KubeError: The API server says no; Invalid carries causes with fields.
    """
    if earlier := sent_before(user, submission_key):
        return earlier
    tenant = own_tenant(user, cluster, manifest)
    _refuse_errors(preview or {})
    wish = Wish(
        user=user,
        tenant=tenant,
        cluster=cluster,
        manifest=manifest,
        now=now,
        ends_at=ends_at,
    )
    ruling = the_gate().judge(wish)
    _refuse_by(ruling, wish, justification)
    checked = _dry_run(user, cluster, manifest, tenant, request_id)
    plan = _plan(cluster, checked, preview or {}, now)
    claim_request = ClaimRequest(
        public_id=checked.public_id,
        requester=user,
        acting_groups=checked.groups,
        tenant=tenant,
        submission_key=submission_key,
        request_id=request_id,
        justification=justification,
        expires_at=ends_at,
        revises=revises,
        preset_version=preset_version,
        submitted_at=now,
        changed_at=now,
    )
    return _store(plan, claim_request, ruling)


def own_tenant(user: User, cluster: Cluster, manifest: Mapping[str, Any]) -> Tenant:
    """Return the tenant of the manifest's namespace, which must be the person's.

    Raises:
        SubmitRefused: It is not, or nothing can be applied to this cluster.
    """
    if cluster.kind == Cluster.Kind.OFFLINE:
        raise SubmitRefused(
            _(
                "%(cluster)s was loaded from files, so nothing can be applied there:"
                " choose a connected cluster."
            )
            % {"cluster": cluster.name},
            code="submit.offline",
        )
    namespace = manifest["metadata"].get("namespace", "")
    own = namespaces_of(user, cluster.name)
    tenant = tenant_of(cluster.name, namespace) if namespace in own else None
    if tenant is None:
        raise SubmitRefused(
            _("“%(namespace)s” is not one of your namespaces here; you have: %(own)s.")
            % {"namespace": namespace, "own": ", ".join(own) or _("none")},
            code="submit.namespace",
            paths=("metadata.namespace",),
        )
    return tenant


def _refuse_by(ruling: Ruling, wish: Wish, justification: str) -> None:
    """Refuse what policy denies, and what needs a reason or an end and has none."""
    if ruling.outcome == Outcome.DENY:
        raise SubmitRefused(
            " ".join(ruling.sentences), code=ruling.code or "policy.denied"
        )
    needs_reason = ruling.outcome == Outcome.APPROVE
    if needs_reason and not justification.strip():
        raise SubmitRefused(
            _("This needs an approval: give the reason, for those who decide."),
            code="policy.justification",
            paths=("justification",),
        )
    needs_end = ruling.max_hours is not None or asks_admin_access(wish.manifest)
    if not needs_end and wish.ends_at is None:
        return
    latest = timedelta(hours=ruling.max_hours or LONGEST_HOURS)
    if wish.ends_at is None or not wish.now < wish.ends_at <= wish.now + latest:
        raise SubmitRefused(
            _("It has to end: within %(hours)s hours from now at the latest.")
            % {"hours": ruling.max_hours or LONGEST_HOURS},
            code="policy.too_long",
            paths=("hours",),
        )


def _refuse_errors(preview: Mapping[str, Any]) -> None:
    for diagnostic in preview.get("diagnostics") or []:
        if diagnostic.get("level") == "error":
            raise SubmitRefused(
                str(diagnostic.get("message", "")),
                code=str(diagnostic.get("code", "")),
                paths=(str(diagnostic.get("path") or ""),),
            )


def _dry_run(
    user: User,
    cluster: Cluster,
    manifest: Mapping[str, Any],
    tenant: Tenant,
    request_id: str,
) -> _Checked:
    """Have the API server check and default the manifest, as the person."""
    pins = class_pins(cluster, manifest)
    public_id, groups = uuid.uuid4(), groups_of(user)
    sent = canonical(manifest, str(public_id), trace=request_id)
    kube = kube_for(cluster, identity_of(user, groups, str(public_id)))
    try:
        defaulted = kube.create(sent, dry_run=True, strict=True)
    except AlreadyExists as error:
        raise SubmitRefused(
            _("A %(kind)s named “%(name)s” is already in %(namespace)s: rename yours.")
            % {"kind": sent["kind"], **_address(sent)},
            code="submit.name_taken",
            paths=("metadata.name",),
        ) from error
    refuse_dropped(sent, defaulted)
    return _Checked(sent, defaulted, pins, public_id, tenant, groups)


def _address(body: Mapping[str, Any]) -> dict[str, str]:
    metadata = body["metadata"]
    return {"name": metadata["name"], "namespace": metadata["namespace"]}


def refuse_dropped(sent: Mapping[str, Any], returned: Mapping[str, Any]) -> None:
    """Refuse where the server took over something else than what was sent.

    Raises:
        SubmitRefused: With code apply.field_dropped and the paths.
    """
    paths = tuple(changed_fields(sent, returned))
    if paths:
        raise SubmitRefused(
            _(
                "The cluster does not keep %(fields)s as written, because a feature"
                " gate is off there or a default replaces it: leave it out."
            )
            % {"fields": ", ".join(paths)},
            code="apply.field_dropped",
            paths=paths,
        )


def class_pins(cluster: Cluster, manifest: Mapping[str, Any]) -> list[Json]:
    """Return name, uid and generation of each class, as the watcher last saw it."""
    names = class_names(manifest)
    seen = {
        row["name"]: row
        for row in KubeObject.objects.filter(
            cluster=cluster, kind="DeviceClass", name__in=names, deleted_at=None
        ).values("name", "uid", "body__metadata__generation")
    }
    for name in names:
        if name not in seen:
            raise SubmitRefused(
                _("There is no device class “%(name)s” in %(cluster)s: choose another.")
                % {"name": name, "cluster": cluster.name},
                code="class.missing",
            )
    return [
        {
            "name": name,
            "uid": seen[name]["uid"],
            "generation": seen[name]["body__metadata__generation"],
        }
        for name in names
    ]


def _plan(
    cluster: Cluster, checked: _Checked, preview: Mapping[str, Any], now: datetime
) -> ClaimPlan:
    return ClaimPlan(
        cluster=cluster,
        kind=checked.sent["kind"],
        **_address(checked.sent),
        manifest=checked.sent,
        defaulted=_defaulted(checked),
        digest=digest_of(checked.defaulted),
        class_pins=checked.class_pins,
        diagnostics=list(preview.get("diagnostics") or []),
        preview=dict(preview) or None,
        revision=preview.get("revision") or cluster.revision,
        created_at=now,
    )


def _defaulted(checked: _Checked) -> Json:
    """Return the dry run's answer without what it made up for the occasion."""
    return {**checked.sent, "spec": checked.defaulted["spec"]}


def _store(
    plan: ClaimPlan, claim_request: ClaimRequest, ruling: Ruling
) -> ClaimRequest:
    """Write both rows, or return the request that the same form made meanwhile."""
    try:
        with (
            transaction.atomic(),
            acting(
                actor=claim_request.requester.username,
                request_id=claim_request.request_id,
            ),
        ):
            plan.save(force_insert=True)
            claim_request.plan = plan
            claim_request.save(force_insert=True)
            announce(claim_request, State.SUBMITTED)
            if ruling.outcome == Outcome.APPROVE:
                _hold(claim_request, ruling)
            else:
                # It counts from here on, whether or not a worker hears of it.
                transaction.on_commit(partial(faults.reach, faults.SUBMITTED))
                wake("claims.apply", claim_request_id=claim_request.pk)
            the_gate().stored(claim_request, ruling)
            faults.reach(faults.STORED)
    except IntegrityError:
        return ClaimRequest.objects.get(
            requester=claim_request.requester,
            submission_key=claim_request.submission_key,
        )
    return claim_request


def _hold(claim_request: ClaimRequest, ruling: Ruling) -> None:
    """Have a request wait for those who decide; in the transaction that stores it."""
    move(
        claim_request,
        State.PENDING_APPROVAL,
        actor=claim_request.requester.username,
        reason=str(ruling.detail.get("rule", "")),
        now=claim_request.submitted_at,
    )
