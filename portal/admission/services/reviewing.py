"""A review answered: what the rules find, and what becomes of it.

Answers are kept for a moment by content, since Kubernetes' controllers try again
ten times in two seconds, and many claims are alike. What is counted against a limit
or an approval is never answered from memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.utils import translation

from inventory.models import Cluster
from portal.admission.domain.advice import AdvisorMode, Outcome
from portal.admission.domain.guards import (
    COUNTED,
    FailurePolicy,
    GuardKind,
    GuardMode,
    concerns,
)
from portal.admission.domain.review import CLAIM, Verdict
from portal.admission.queries.rules import (
    advisor_setting,
    fallbacks_in_force,
    rules_in_force,
)
from portal.admission.services.budgeting import budgets_of
from portal.admission.services.guarding import breaches_of
from portal.admission.services.mutating import changed_by_advice
from portal.admission.services.recording import link, record_breaches, tally
from portal.admission.services.wording import breach_sentence
from portal.core.cache_by_content import ContentCache, content_key
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from portal.admission.domain.guards import Breach, GuardRule
    from portal.admission.domain.review import Review

logger = structlog.get_logger(__name__)

ADMITTED_SECONDS = 5.0
DENIED_SECONDS = 2.0


class NoSuchCluster(PortalError):
    """A review came for a cluster that the portal does not know."""

    code = "admission.no_cluster"


_verdicts: ContentCache[tuple[Verdict, tuple[Breach, ...]]] = ContentCache(
    seconds=ADMITTED_SECONDS, most=5_000
)
_clusters: ContentCache[Cluster] = ContentCache(seconds=1, most=100)


def forget() -> None:
    """Answer every review anew from now on, in this process."""
    _verdicts.clear()
    _clusters.clear()


def cluster_named(name: str) -> Cluster:
    """Return the cluster that a review is about, a second old at most.

    Raises:
        NoSuchCluster: There is none of that name, or several and none was named.
    """
    name = name or settings.SLICEWISE_ADMISSION_CLUSTER
    return _clusters.get([name], lambda: _cluster(name))


def _cluster(name: str) -> Cluster:
    rows = Cluster.objects.defer("kubeconfig_encrypted")
    if not name:
        rows = rows.exclude(kind=Cluster.Kind.OFFLINE)
    found = list((rows.filter(name=name) if name else rows)[:2])
    if len(found) != 1:
        raise NoSuchCluster(
            f"There is no cluster {name!r} here: put its name at the end of the path."
            if name
            else "Several clusters, or none, are known here: put the name of yours at"
            " the end of the path."
        )
    return found[0]


def validate(
    cluster_name: str, review: Review, *, failure: str = "", now: datetime
) -> Verdict:
    """Return what the rules make of a review.

    Args:
        cluster_name: as in the webhook's path; "" for the only one.
        review: what is asked.
        failure: `fail` or `ignore` for the rules of that failure policy alone.
        now: the moment.

    Raises:
        PortalError: The rules could not be tried; the API server does what the
            webhook's failurePolicy says.
    """
    cluster = cluster_named(cluster_name)
    rules = [
        rule
        for rule in rules_in_force()
        if failure in {"", rule.failure_policy.lower()}
        and _looks(cluster, review, rule)
    ]
    key = _key(cluster, review, rules)
    kept = _verdicts.find(key)
    if kept is None:
        kept = _judged(cluster, review, rules, now=now)
        if seconds := _keep_seconds(review, rules, kept[0]):
            _verdicts.keep(key, kept, seconds=seconds)
    verdict, breaches = kept
    if not review.dry_run:
        tally.add((rule.id for rule in rules), breaches)
        if _may_have_been_judged_before(cluster, review):
            link(cluster, review, now=now)
    return verdict


def _looks(cluster: Cluster, review: Review, rule: GuardRule) -> bool:
    """Return whether a rule has anything to look at; budgets only where there are any."""
    if not concerns(rule, review):
        return False
    return rule.kind is not GuardKind.BUDGETS or bool(
        budgets_of(cluster, review.namespace)
    )


def _may_have_been_judged_before(cluster: Cluster, review: Review) -> bool:
    """Return whether the mutating webhook may have kept something about a claim."""
    if review.kind != CLAIM or not review.object_uid:
        return False
    is_asked = advisor_setting().mode != AdvisorMode.OFF
    return is_asked or bool(fallbacks_in_force(cluster))


def _judged(
    cluster: Cluster, review: Review, rules: Sequence[GuardRule], *, now: datetime
) -> tuple[Verdict, tuple[Breach, ...]]:
    breaches = breaches_of(cluster, review, rules, now=now)
    verdict = verdict_of(breaches)
    if breaches and not review.dry_run:
        outcome = Outcome.ADMIT if verdict.allowed else Outcome.DENY
        record_breaches(cluster, review, breaches, outcome=outcome, now=now)
    return verdict, tuple(breaches)


def verdict_of(breaches: Sequence[Breach]) -> Verdict:
    """Return the answer that breaches lead to, in English."""
    with translation.override("en"):
        denied = [
            breach_sentence(each) for each in breaches if each.mode is GuardMode.DENY
        ]
        warned = [
            breach_sentence(each) for each in breaches if each.mode is GuardMode.WARN
        ]
    return Verdict(not denied, " ".join(denied), tuple(warned))


def _key(cluster: Cluster, review: Review, rules: Sequence[GuardRule]) -> bytes:
    """Return what an answer depends on: the content, who makes it, and the rules."""
    return content_key(
        [
            cluster.pk,
            review.kind,
            review.namespace,
            review.operation,
            review.body["spec"],
            review.name if review.request_id else "",
            review.request_id,
            review.username if review.request_id or review.by_controller else "",
            review.dry_run,
            [[r.id, r.mode, r.params, r.failure_policy] for r in rules],
        ]
    )


def _keep_seconds(
    review: Review, rules: Sequence[GuardRule], verdict: Verdict
) -> float:
    if not verdict.allowed:
        return DENIED_SECONDS
    return 0.0 if any(rule.kind in COUNTED for rule in rules) else ADMITTED_SECONDS


def mutate(cluster_name: str, review: Review, *, now: datetime) -> Verdict:
    """Return a claim's verdict before it is stored: a fallback, or the advisor's word.

    A claim of the portal was shown as it is, and is neither judged nor changed here.

    Raises:
        PortalError: It could not be judged; the webhook's failurePolicy decides.
    """
    if review.kind != CLAIM or review.operation != "CREATE":
        return Verdict(True)
    if review.request_id:
        return Verdict(True)
    return changed_by_advice(cluster_named(cluster_name), review, now=now)


def failures() -> tuple[str, ...]:
    """Return what the end of a path may say."""
    return tuple(each.lower() for each in FailurePolicy)
