"""What the API says of adoption, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portal.adoption.services.words import advice_of, evidence_of, title_of

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.adoption.domain.readiness import Verdict
    from portal.adoption.services.reading import Readiness

Json = dict[str, Any]


def verdict_document(verdict: Verdict) -> Json:
    """Return a verdict in words."""
    return {
        "code": verdict.code,
        "title": title_of(verdict),
        "answer": verdict.answer.value,
        "evidence": evidence_of(verdict),
        "advice": advice_of(verdict) or None,
    }


def readiness_document(cluster: Cluster, found: Readiness) -> Json:
    """Return every verdict on a cluster and its nodes."""
    return {
        "cluster": cluster.name,
        "revision": cluster.revision,
        "verdicts": [verdict_document(each) for each in found.cluster],
        "nodes": [
            {
                "node": node.name,
                "verdicts": [verdict_document(each) for each in verdicts],
            }
            for node, verdicts in found.nodes
        ],
        "migLayouts": [
            {
                "layout": each.config,
                "product": each.product or None,
                "profile": each.profile,
                "told": each.wanted,
                "published": each.published,
                "nodes": each.nodes,
            }
            for each in found.mig
        ],
    }
