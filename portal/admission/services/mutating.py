"""A claim before it is stored: the host's guard, the advisor, a fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from django.utils import translation

from claims.domain.manifest import asks_admin_access, digest_of
from portal.admission.domain.advice import (
    Advice,
    AdvisorMode,
    Decision,
    Outcome,
    decide,
    guard,
    state_of,
)
from portal.admission.domain.fallback import (
    BATCH,
    Changed,
    changed,
    refusal,
    tier_of,
)
from portal.admission.domain.questions import MUTATE
from portal.admission.domain.review import Verdict
from portal.admission.gateways.advisor import AdvisorFault
from portal.admission.queries.rules import fallbacks_in_force
from portal.admission.services.advising import Trust, advice_on, trust
from portal.admission.services.approved import is_approved
from portal.admission.services.facts import asked_by, exact_severity, resources_of
from portal.admission.services.fitting import falls_back_well, fits
from portal.admission.services.guarding import is_labelled, namespace_labels
from portal.admission.services.recording import decision_of
from portal.admission.services.wording import said
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from datetime import datetime

    from inventory.models import Cluster
    from portal.admission.domain.fallback import Fallback
    from portal.admission.domain.review import Review
    from portal.admission.models import AdmissionDecision

Json = dict[str, Any]

logger = structlog.get_logger(__name__)
RULE = "advisor"


@dataclass(frozen=True, slots=True)
class Asking:
    """One claim, and how far the advisor is trusted with it."""

    cluster: Cluster
    review: Review
    tier: str
    trust: Trust


def changed_by_advice(cluster: Cluster, review: Review, *, now: datetime) -> Verdict:
    """Return what becomes of a claim, always in this order.

    The host's guard, before any call; the advisor, where it is on, and what it says
    counts where it may enforce; a fallback that needs no advice, where what was asked
    for fits nowhere now. What was decided is kept, unless it is a dry run.
    """
    row = decision_of(cluster, review, now=now)
    is_admin = asks_admin_access(review.body)
    labelled = is_labelled(cluster, review.namespace) if is_admin else None
    if refused := guard(asks_admin=is_admin, labelled=labelled):
        return _answer(row, review, refused, None)
    asking = Asking(cluster, review, _tier(cluster, review), trust(now=now))
    row.tier = asking.tier
    decision, change = None, None
    if asking.trust.mode is not AdvisorMode.OFF:
        decision, change = _advised(asking, row)
    enforced = asking.trust.mode is AdvisorMode.ENFORCE and decision is not None
    if not enforced or decision is None or decision.outcome is Outcome.ADMIT:
        decision, change = _unadvised(asking)
    return _answer(row, review, decision, change)


def _tier(cluster: Cluster, review: Review) -> str:
    return tier_of(review, namespace_labels(cluster, review.namespace) or {})


def _advised(
    asking: Asking, row: AdmissionDecision
) -> tuple[Decision | None, Changed | None]:
    """Return what the advisor's word leads to, kept in the row; None without one."""
    row.advisor_mode = asking.trust.mode
    try:
        row.state = state_of(
            resources_of(asking.cluster), asked_by(asking.review, asking.tier)
        )
        advice = advice_on(row.state)
    except (AdvisorFault, PortalError) as error:
        row.fault = (getattr(error, "message", "") or str(error))[:200]
        logger.warning("no advice", why=row.fault)
        return None, None
    row.advice = advice.document()
    row.exact_severity = _exact(asking)
    change = _fallback_for(asking, advice)
    decision = decide(
        advice,
        asking.trust.thresholds,
        tier=asking.tier,
        can_mutate=change is not None,
    )
    row.advised, row.advised_code = decision.outcome, decision.code
    return decision, change if decision.outcome is Outcome.MUTATE else None


def _exact(asking: Asking) -> int | None:
    try:
        return exact_severity(asking.cluster, asking.review)
    except PortalError:
        return None


def _fallback_for(asking: Asking, advice: Advice) -> Changed | None:
    """Return the claim with a fallback that fits now, where the advice is for one."""
    if advice.action != MUTATE or asking.tier != BATCH:
        return None
    return _fitting(asking, fallbacks_in_force(asking.cluster))


def _may_change(asking: Asking) -> bool:
    """Return whether a claim may be changed at all: never one that was approved."""
    return not refusal(asking.review) and not is_approved(asking.cluster, asking.review)


def _fitting(asking: Asking, fallbacks: tuple[Fallback, ...]) -> Changed | None:
    if not fallbacks or not _may_change(asking):
        return None
    change = changed(asking.review, fallbacks)
    if change is None or not falls_back_well(asking.cluster, change):
        return None
    return change


def _unadvised(asking: Asking) -> tuple[Decision | None, Changed | None]:
    """Return a fallback that needs no advice, where what was asked for fits nowhere."""
    every = fallbacks_in_force(asking.cluster)
    own = tuple(each for each in every if not each.needs_advice)
    if asking.tier != BATCH or not own or not _may_change(asking):
        return None, None
    change = changed(asking.review, own)
    if change is None or fits(asking.cluster, asking.review.body) is not False:
        return None, None
    if not falls_back_well(asking.cluster, change):
        return None, None
    names = ", ".join(dict.fromkeys(name for _request, name in change.pairs))
    return Decision(Outcome.MUTATE, "fallback.unfit", {"name": names}), change


def _answer(
    row: AdmissionDecision,
    review: Review,
    decision: Decision | None,
    change: Changed | None,
) -> Verdict:
    """Return the answer, and keep what there is to say about it."""
    if decision is not None:
        row.outcome = decision.outcome
        values = {"code": decision.code, "values": decision.values}
        row.breaches = [{"rule": RULE, "mode": "deny", **values}]
    if change is not None:
        row.patch = list(change.patch)
        row.mutated_digest = digest_of(change.body)
    has_news = decision is not None or row.advice is not None or row.fault
    if has_news and not review.dry_run:
        row.save()
    if decision is None or decision.outcome is Outcome.ADMIT:
        return Verdict(True)
    with translation.override("en"):
        text = said(decision.code, decision.values)
    if decision.outcome is Outcome.DENY:
        return Verdict(False, f"[{RULE}] {text}")
    return Verdict(True, warnings=(text,), patch=change.patch if change else ())
