"""Approve less than was asked: fewer hours, fewer devices.

What is made then is another plan with another digest, checked by the API server
as its requester. Who approved the larger one has not approved this one, so that
others who have to agree decide anew.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from claims.domain.manifest import ordered
from claims.services.gate import Wish, the_gate
from claims.services.replanning import planned, replan
from claims.services.yaml_text import dump
from portal.approvals.models import Approval, Decision
from portal.approvals.services.deciding import (
    TooLate,
    check_decision,
    decide,
    too_late_text,
)
from portal.audit.context import acting
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.models import ClaimPlan
    from portal.accounts.models import User

Json = dict[str, Any]


class NotNarrower(PortalError):
    """It is not less than what was asked, or not of what was asked."""

    code = "approval.not_narrower"


@dataclass(frozen=True, slots=True)
class Narrower:
    """What is approved of what was asked.

    Attributes:
        hours: from now; None for as long as was asked.
        counts: `request` or `request/alternative` → devices; others as asked.
    """

    hours: int | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Count:
    """How many devices one request, or one alternative, asks for."""

    name: str
    count: int


def counts_of(manifest: Mapping[str, Any]) -> list[Count]:
    """Return what a decision may lower: requests by number, in order."""
    return [
        Count(name, int(asked.get("count") or 1)) for name, asked in _asks(manifest)
    ]


def _asks(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    spec = manifest["spec"]
    claim = spec.get("spec") or {} if "spec" in spec else spec
    for request in (claim.get("devices") or {}).get("requests") or []:
        one = request.get("exactly")
        asks = [(request["name"], one)] if one else []
        asks += [
            (f"{request['name']}/{sub['name']}", sub)
            for sub in request.get("firstAvailable") or []
        ]
        for name, asked in asks:
            if asked.get("allocationMode") != "All":
                yield name, asked


def difference_of(approval: Approval) -> list[tuple[str, str]]:
    """Return what was asked against what is approved: (sign, line), "" for nothing."""
    if approval.asked_plan is None:
        return []
    before = dump(ordered(approval.asked_plan.manifest)).splitlines()
    after = dump(ordered(approval.claim_request.plan.manifest)).splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    return [(line[:1].strip(), line[1:]) for line in lines if not line.startswith("@@")]


def approve_narrower(  # noqa: PLR0913  each is one fact of the decision
    approval: Approval,
    narrower: Narrower,
    *,
    user: User,
    reason: str,
    digest: str,
    request_id: str,
    now: datetime,
) -> None:
    """Approve less than was asked, as the first of those who agree to that.

    Raises:
        NotNarrower: It is not less.
        NotYours, OtherDigest, TooLate: As `decide`.
        KubeError, SubmitRefused: The API server refuses the smaller manifest.
    """
    check_decision(approval, user, Decision.Verdict.APPROVE, reason.strip(), digest)
    claim_request = approval.claim_request
    ends_at = _ends_at(approval, narrower.hours, now)
    manifest = _lowered(claim_request.plan.manifest, narrower.counts)
    if manifest is None and ends_at == claim_request.expires_at:
        raise NotNarrower(_("Say what is to be less, or approve it as it was asked."))
    plan = planned(claim_request, manifest, now=now) if manifest else None
    ruling = the_gate().judge(
        replace(
            Wish.again(claim_request, now=now, ends_at=ends_at),
            manifest=manifest or claim_request.plan.manifest,
            instead_of=claim_request.pk,
        )
    )
    with transaction.atomic():
        with acting(actor=user.username, reason=reason, request_id=request_id):
            _swap(approval, plan, ends_at, user)
            the_gate().changed(claim_request, ruling)
        decide(
            approval,
            user=user,
            verdict=Decision.Verdict.APPROVE,
            reason=reason,
            digest=approval.digest,
            request_id=request_id,
            now=now,
        )


def _ends_at(approval: Approval, hours: int | None, now: datetime) -> datetime | None:
    asked = approval.claim_request.expires_at
    if hours is None:
        return asked
    ends_at = now + timedelta(hours=hours)
    if asked is not None and ends_at >= asked:
        raise NotNarrower(
            _("That would last longer than was asked: name fewer hours, or none.")
        )
    return ends_at


def _lowered(manifest: Json, counts: Mapping[str, int]) -> Json | None:
    """Return the manifest with lower counts; None where none is lower."""
    changed = copy.deepcopy(manifest)
    asks = dict(_asks(changed))
    is_less = False
    for name, count in counts.items():
        if name not in asks:
            raise NotNarrower(
                _("“%(name)s” is no request by number here; there are: %(known)s.")
                % {"name": name, "known": ", ".join(asks) or _("none")}
            )
        asked = int(asks[name].get("count") or 1)
        if not 1 <= count <= asked:
            raise NotNarrower(
                _("“%(name)s” asks for %(asked)d: approve 1 to %(asked)d.")
                % {"name": name, "asked": asked}
            )
        if count < asked:
            asks[name]["count"] = count
            is_less = True
    return changed if is_less else None


def _swap(
    approval: Approval, plan: ClaimPlan | None, ends_at: datetime | None, user: User
) -> None:
    """Have the request wait with less, and its approval be about that."""
    claim_request = approval.claim_request
    old_plan, old_end = claim_request.plan, claim_request.expires_at
    rows = Approval.objects.filter(pk=approval.pk, is_open=True, digest=approval.digest)
    values: Json = {
        "narrowed_by": user.username,
        "asked_plan": approval.asked_plan or old_plan,
        "asked_until": approval.asked_until or old_end,
    }
    if plan is not None:
        values |= {"digest": plan.digest, "approved_count": 0}
    if not replan(claim_request, plan, ends_at) or not rows.update(**values):
        raise TooLate(too_late_text(approval, user))
    approval.refresh_from_db()
