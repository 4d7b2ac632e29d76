"""Give a request that waits another plan: less of what it asked for.

The network call comes first: the API server checks and defaults the smaller
manifest as its requester, as it did when the request was submitted.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from claims.domain.lifecycle import State
from claims.domain.manifest import canonical, digest_of
from claims.models import ClaimPlan, ClaimRequest
from claims.services.acting import as_requester
from claims.services.diagnosing import diagnose
from claims.services.submit import class_pins, refuse_dropped
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = structlog.get_logger(__name__)

Json = dict[str, Any]


def planned(
    claim_request: ClaimRequest, manifest: Mapping[str, Any], *, now: datetime
) -> ClaimPlan:
    """Return the plan of a smaller manifest, not stored yet.

    Raises:
        SubmitRefused: The server makes something else of it, or a class is gone.
        KubeError: The API server says no.
    """
    old = claim_request.plan
    pins = class_pins(old.cluster, manifest)
    sent = canonical(manifest, str(claim_request.public_id))
    defaulted = as_requester(claim_request).create(sent, dry_run=True, strict=True)
    refuse_dropped(sent, defaulted)
    preview = _preview(claim_request, sent)
    return ClaimPlan(
        cluster=old.cluster,
        kind=old.kind,
        namespace=old.namespace,
        name=old.name,
        manifest=sent,
        defaulted={**sent, "spec": defaulted["spec"]},
        digest=digest_of(defaulted),
        class_pins=pins,
        diagnostics=list((preview or {}).get("diagnostics") or []),
        preview=preview,
        revision=(preview or {}).get("revision") or old.cluster.revision,
        created_at=now,
    )


def _preview(claim_request: ClaimRequest, manifest: Json) -> Json | None:
    """Return what is shown with the plan; None where the engine is away."""
    try:
        requester, cluster = claim_request.requester, claim_request.plan.cluster
        return diagnose(cluster, requester, manifest).document()
    except PortalError as error:
        logger.warning("planned anew without checks", reason=error.message)
        return None


def replan(
    claim_request: ClaimRequest, plan: ClaimPlan | None, ends_at: datetime | None
) -> bool:
    """Give a request that waits another plan and end; return whether it still waited.

    Args:
        claim_request: as it was read; another plan by now is a race that is lost.
        plan: a new one, stored here; None to keep the one that it has.
        ends_at: when it ends by itself; None for never.
    """
    if plan is not None:
        plan.save(force_insert=True)
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk,
        state=State.PENDING_APPROVAL,
        plan_id=claim_request.plan_id,
    )
    changed = rows.update(plan=plan or claim_request.plan, expires_at=ends_at)
    claim_request.refresh_from_db()
    return bool(changed)


def prolong(claim_request: ClaimRequest, until: datetime) -> bool:
    """Let an active request last longer; return whether it was as it was read."""
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk, state=State.ACTIVE, expires_at=claim_request.expires_at
    )
    changed = rows.update(expires_at=until)
    claim_request.refresh_from_db()
    return bool(changed)
