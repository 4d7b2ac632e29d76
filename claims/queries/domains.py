"""What became of a ComputeDomain that was asked for: its state, nodes and templates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from claims.domain.compute_domains import OWNED_LABEL
from claims.domain.manifest import DOMAIN
from inventory.domain.domains import ComputeDomain, parse_domain
from inventory.models import KubeObject

if TYPE_CHECKING:
    from claims.models import ClaimRequest

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MadeDomain:
    """A domain as its controller last told, and the templates that it made for it.

    Attributes:
        templates: in the domain's own namespace; they belong to the controller.
    """

    domain: ComputeDomain
    templates: tuple[Json, ...]


def made_domain(claim_request: ClaimRequest) -> MadeDomain | None:
    """Return the domain that a request made; None where it made none that is seen."""
    plan = claim_request.plan
    if plan.kind != DOMAIN or not claim_request.object_uid:
        return None
    rows = KubeObject.objects.filter(
        cluster=plan.cluster, namespace=plan.namespace, deleted_at=None
    )
    body = (
        rows.filter(kind=DOMAIN, uid=claim_request.object_uid)
        .values_list("body", flat=True)
        .first()
    )
    if body is None:
        return None
    domain = parse_domain(plan.namespace, plan.name, body)
    templates = rows.filter(kind="ResourceClaimTemplate").order_by("name")
    return MadeDomain(
        replace(domain, uid=claim_request.object_uid),
        tuple(
            body
            for body in templates.values_list("body", flat=True)
            if (body["metadata"].get("labels") or {}).get(OWNED_LABEL)
            == claim_request.object_uid
        ),
    )
