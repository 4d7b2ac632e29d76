"""A review answered: what the rules find, and what becomes of it.

Answers are kept for a moment by content, since Kubernetes' controllers try again
ten times in two seconds, and many claims are alike. What is counted against a limit
or an approval is never answered from memory.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.utils import translation

from claims.domain.manifest import asks_admin_access
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
    KEPT_SECONDS,
    advisor_setting,
    fallbacks_in_force,
    rules_in_force,
)
from portal.admission.queries.rules import refresh as refresh_rules
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
RENEWED_SECONDS = 2.5
MOST_AGAIN = 200


class NoSuchCluster(PortalError):
    """A review came for a cluster that the portal does not know."""

    code = "admission.no_cluster"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A verdict, what it comes from, and when it was found."""

    verdict: Verdict
    breaches: tuple[Breach, ...]
    at: float

    def is_old(self) -> bool:
        """Return whether it should be found anew before it is over."""
        age = time.monotonic() - self.at
        return self.verdict.allowed and not self.breaches and age > RENEWED_SECONDS


_verdicts: ContentCache[_Kept] = ContentCache(seconds=ADMITTED_SECONDS, most=5_000)
_clusters: ContentCache[Cluster] = ContentCache(seconds=KEPT_SECONDS, most=100)
_names: set[str] = set()
# Of verdicts that were asked for and will soon be over: what was asked.
_again: dict[bytes, tuple[str, Review, str]] = {}


def forget() -> None:
    """Answer every review anew from now on, in this process."""
    _verdicts.clear()
    _clusters.clear()
    _again.clear()


def cluster_named(name: str) -> Cluster:
    """Return the cluster that a review is about, two seconds old at most.

    Raises:
        NoSuchCluster: There is none of that name, or several and none was named.
    """
    name = name or settings.SLICEWISE_ADMISSION_CLUSTER
    found = _clusters.get([name], lambda: _cluster(name))
    _names.add(name)
    return found


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
    cluster, rules, key = _asked(cluster_name, review, failure)
    kept = _verdicts.find(key)
    if kept is None:
        kept = _judged_anew(cluster, review, rules, key, now=now)
    if not review.dry_run:
        tally.add((rule.id for rule in rules), kept.breaches)
        if tally.is_due():
            tally.flush()
        if _may_have_been_judged_before(cluster, review):
            link(cluster, review, now=now)
    return kept.verdict


def validate_at_once(
    cluster_name: str, review: Review, *, failure: str = ""
) -> Verdict | None:
    """Return the answer where memory has it and all that it depends on, else None.

    For the thread of the event loop, where a query is refused.
    """
    try:
        cluster, rules, key = _asked(cluster_name, review, failure)
        kept = _verdicts.find(key)
        if kept is None:
            return None
        if not review.dry_run:
            if tally.is_due() or _may_have_been_judged_before(cluster, review):
                return None
            tally.add((rule.id for rule in rules), kept.breaches)
    except (SynchronousOnlyOperation, NoSuchCluster):
        return None
    if kept.is_old() and len(_again) < MOST_AGAIN:
        _again[key] = (cluster_name, review, failure)
    return kept.verdict


def refresh(*, now: datetime) -> None:
    """Read and judge anew what reviews ask for all the time, so that none waits.

    For a process that answers at once; called a few times within two seconds.
    """
    refresh_rules()
    for name in list(_names):
        try:
            _clusters.keep(content_key([name]), _cluster(name))
        except NoSuchCluster:
            _names.discard(name)
    if tally.is_due():
        tally.flush()
    while _again:
        key, (name, review, failure) = _again.popitem()
        cluster, rules, _key = _asked(name, review, failure)
        try:
            _judged_anew(cluster, replace(review, dry_run=True), rules, key, now=now)
        except PortalError as error:
            logger.warning("a verdict was not renewed", code=error.code)


def _asked(
    cluster_name: str, review: Review, failure: str
) -> tuple[Cluster, list[GuardRule], bytes]:
    """Return the cluster, the rules that look at a review, and the verdict's key."""
    cluster = cluster_named(cluster_name)
    rules = [
        rule
        for rule in rules_in_force()
        if failure in {"", rule.failure_policy.lower()}
        and _looks(cluster, review, rule)
    ]
    return cluster, rules, _key(cluster, review, rules)


def _judged_anew(
    cluster: Cluster,
    review: Review,
    rules: Sequence[GuardRule],
    key: bytes,
    *,
    now: datetime,
) -> _Kept:
    kept = _Kept(*_judged(cluster, review, rules, now=now), time.monotonic())
    if seconds := _keep_seconds(review, rules, kept.verdict):
        _verdicts.keep(key, kept, seconds=seconds)
    return kept


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
    if _is_left_alone(review):
        return Verdict(True)
    return changed_by_advice(cluster_named(cluster_name), review, now=now)


def mutate_at_once(cluster_name: str, review: Review) -> Verdict | None:
    """Return a claim's verdict where nothing could change or refuse it, else None.

    For the thread of the event loop, where a query is refused.
    """
    if _is_left_alone(review):
        return Verdict(True)
    try:
        is_free = advisor_setting().mode == AdvisorMode.OFF and not (
            fallbacks_in_force(cluster_named(cluster_name))
        )
    except (SynchronousOnlyOperation, NoSuchCluster):
        return None
    return Verdict(True) if is_free and not asks_admin_access(review.body) else None


def _is_left_alone(review: Review) -> bool:
    is_new_claim = review.kind == CLAIM and review.operation == "CREATE"
    return not is_new_claim or bool(review.request_id)


def failures() -> tuple[str, ...]:
    """Return what the end of a path may say."""
    return tuple(each.lower() for each in FailurePolicy)
