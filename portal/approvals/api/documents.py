"""What the API says of approvals, policy and exposure, as JSON."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from claims.api.documents import request_document
from claims.domain.manifest import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portal.approvals.models import Approval
    from portal.approvals.queries.exposure import LabelledNamespace, Reach, Seer
    from portal.approvals.services.labelling import Setter

Json = dict[str, Any]


def approval_document(row: Approval) -> Json:
    """Return an approval and what was decided so far."""
    return {
        "id": str(row.claim_request.public_id),
        "request": request_document(row.claim_request),
        "digest": row.digest,
        "needed": row.needed,
        "approved": row.approved_count,
        "role": row.role or None,
        "group": row.group or None,
        "isOpen": row.is_open,
        "decideBy": row.decide_by,
        "createdAt": row.created_at,
        "policyVersion": row.policy_version,
        "rule": str(row.rule.get("name", "")),
        "narrowedBy": row.narrowed_by or None,
        "decisions": [
            {
                "person": each.person.username,
                "verdict": each.verdict,
                "reason": each.reason or None,
                "digest": each.digest,
                "decidedAt": each.decided_at,
            }
            for each in row.decisions.select_related("person").order_by(
                "decided_at", "pk"
            )
        ],
    }


def approval_detail_document(
    row: Approval, why: Sequence[str], *, may_decide: bool
) -> Json:
    """Return an approval with all that there is to decide about."""
    return {
        **approval_document(row),
        "manifest": ordered(row.claim_request.plan.manifest),
        "why": list(why),
        "mayDecide": may_decide,
    }


def etag_of(row: Approval) -> str:
    """Return what changes with every decision, and with what is decided about."""
    text = (
        f"{row.pk} {row.digest} {row.approved_count} {row.is_open}"
        f" {row.claim_request.state} {row.claim_request.expires_at}"
    )
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def seer_document(seer: Seer) -> Json:
    """Return an administrative claim or template, and whom it sees."""
    made_by = seer.claim_request
    return {
        "kind": seer.kind,
        "namespace": seer.namespace,
        "name": seer.name,
        "tenant": seer.tenant or None,
        "state": seer.state or None,
        "pods": list(seer.pods),
        "claimRequest": str(made_by.public_id) if made_by else None,
        "endsAt": seer.ends_at,
        "reach": _reach(seer.reach) if seer.reach else None,
    }


def _reach(reach: Reach) -> Json:
    return {
        "devices": reach.devices,
        "cards": reach.cards,
        "works": [
            {
                "tenant": work.tenant or None,
                "namespaces": sorted(work.namespaces),
                "claims": len(work.claims),
                "vramBytes": work.memory,
                "atLeast": work.at_least,
            }
            for work in reach.works
        ],
    }


def exposure_document(
    seers: Sequence[Seer],
    labelled: Sequence[LabelledNamespace],
    setters: Sequence[Setter] | None,
) -> Json:
    """Return who can see whose memory, and who can let more people do so."""
    return {
        "seers": [seer_document(each) for each in seers],
        "labelled": [
            {"namespace": each.name, "tenant": each.tenant or None, "seers": each.seers}
            for each in labelled
        ],
        "setters": None
        if setters is None
        else [{"subject": each.subject, "by": each.by} for each in setters],
    }
