"""The facts that rules need, gathered only for rules that have something to look at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from claims.domain.checks.findings import Level
from claims.domain.manifest import ADMIN_LABEL
from claims.services.checking import Checker
from claims.services.finding_sentences import sentence
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from inventory.gateways.kube import AS_ITSELF
from inventory.models import KubeObject
from inventory.services.connections import NoServer, kube_for
from portal.admission.domain.guards import (
    COUNTED,
    Breach,
    GuardKind,
    GuardMode,
    GuardRule,
    concerns,
    diagnostic_breaches,
    forbidden_breaches,
)
from portal.admission.domain.review import DEVICE_CLASS, POD
from portal.admission.models import AdmittedClaim
from portal.admission.services.approved import admin_breaches
from portal.admission.services.budgeting import budgets_breached
from portal.admission.services.extended import claim_of_pod
from portal.admission.services.limiting import limits_breached
from portal.core.cache_by_content import ContentCache
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from claims.domain.checks.findings import Finding
    from inventory.models import Cluster
    from portal.admission.domain.review import Review

logger = structlog.get_logger(__name__)

# Of a class, these stop every pod that uses it, although they are warnings of a claim.
STOPS_A_CLASS = frozenset({"cel.runtime_missing_key", "cel.runtime_error"})
# What the API server, or a quota, says itself and at the right moment.
LEFT_TO_THE_SERVER = frozenset(
    {
        "admin.namespace_label",
        "admin.namespace_label_value",
        "quota.exceeded",
        "template.immutable",
        "apply.field_dropped",
    }
)
Findings = tuple[tuple[str, str, str], ...]

_found: ContentCache[Findings] = ContentCache(seconds=2, most=2_000)


def breaches_of(
    cluster: Cluster, review: Review, rules: Sequence[GuardRule], *, now: datetime
) -> list[Breach]:
    """Return what the rules find in a review, in the order of the rules.

    What is admitted is counted against approvals and limits, unless it is a dry run.
    """
    if review.kind == POD:
        review = claim_of_pod(cluster, review)
    wanted = [rule for rule in rules if concerns(rule, review)]
    found: dict[str, list[Breach]] = {}
    # What another rule denies is not made, and counts nowhere.
    for rule in sorted(wanted, key=lambda rule: rule.kind in COUNTED):
        counts = rule.kind in COUNTED and not _is_denied(found)
        asked = review if counts else replace(review, dry_run=True)
        found[rule.id] = _breaches(cluster, asked, rule, now)
    if _is_denied(found) and review.object_uid and not review.dry_run:
        AdmittedClaim.objects.filter(cluster=cluster, uid=review.object_uid).delete()
    return [each for rule in wanted for each in found[rule.id]]


def _is_denied(found: Mapping[str, Sequence[Breach]]) -> bool:
    return any(b.mode is GuardMode.DENY for each in found.values() for b in each)


def _breaches(
    cluster: Cluster, review: Review, rule: GuardRule, now: datetime
) -> list[Breach]:
    if rule.kind is GuardKind.ADMIN_ACCESS:
        labelled = is_labelled(cluster, review.namespace)
        return list(admin_breaches(cluster, review, rule, labelled=labelled, now=now))
    if rule.kind is GuardKind.LIMITS:
        return limits_breached(cluster, review, rule, now=now)
    if rule.kind is GuardKind.BUDGETS:
        return budgets_breached(cluster, review, rule, now=now)
    if rule.kind is GuardKind.FORBIDDEN:
        return list(forbidden_breaches(rule, review))
    return list(diagnostic_breaches(rule, findings_of(cluster, review)))


def namespace_labels(cluster: Cluster, namespace: str) -> dict[str, str] | None:
    """Return a namespace's labels as they were last seen; None where it was not."""
    row = KubeObject.objects.filter(
        cluster=cluster, kind="Namespace", name=namespace, deleted_at=None
    ).first()
    if row is None:
        return None
    return dict((row.body.get("metadata") or {}).get("labels") or {})


def is_labelled(cluster: Cluster, namespace: str) -> bool | None:
    """Return whether adminAccess may be asked for there; None where it is not known."""
    labels = namespace_labels(cluster, namespace)
    return None if labels is None else labels.get(ADMIN_LABEL) == "true"


def findings_of(cluster: Cluster, review: Review) -> Findings:
    """Return (code, path, sentence) of errors that the API server lets through.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    key = (cluster.pk, review.kind, review.namespace, review.body["spec"])
    return _found.get(key, lambda: _findings(cluster, review))


def _findings(cluster: Cluster, review: Review) -> Findings:
    metadata = {"name": review.name or "unnamed", "namespace": review.namespace}
    item = {**review.body, "metadata": {**review.body["metadata"], **metadata}}
    checked = Checker(cluster, previews=False).check(item, earlier=[], mine=[])
    stops = STOPS_A_CLASS if review.kind == DEVICE_CLASS else frozenset[str]()
    return tuple(
        (finding.code, finding.path, sentence(finding, hide=_EVERYONE))
        for finding in checked.findings
        if finding.code not in LEFT_TO_THE_SERVER
        and (finding.level is Level.ERROR or finding.code in stops)
        and not (finding.code == "class.missing" and _is_there(cluster, finding))
    )


def _is_there(cluster: Cluster, finding: Finding) -> bool:
    """Return whether a class that was not seen is there after all, or may be.

    It may have been made a moment ago, so the API server is asked.
    """
    try:
        kube = kube_for(cluster, AS_ITSELF)
        kube.get(BY_NAME["DeviceClass"], str(finding.values["name"]))
    except (NotFound, NoServer):
        return False
    except PortalError as error:
        logger.warning("a class was not looked for", code=error.code)
    return True


class _Everyone(frozenset[str]):
    """Every namespace: whose claims are in the way is told to nobody here."""

    def __contains__(self, _name: object) -> bool:
        return True


_EVERYONE = _Everyone()
