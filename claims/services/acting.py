"""Who a claim request is applied as, and what the portal reads with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.domain.manifest import REQUEST_LABEL
from inventory.gateways.kube import AS_ITSELF, Identity, Kube
from inventory.services.connections import kube_for

if TYPE_CHECKING:
    from claims.models import ClaimRequest
    from portal.accounts.models import User

# A user of Kubernetes that deploy/rbac.yaml binds to the role of the same name.
CLEANER = "slicewise:cleaner"


def identity_of(user: User, groups: list[str], public_id: str) -> Identity:
    """Return the person's identity, with the request's id for admission to read.

    Source: Kubernetes user impersonation, Impersonate-Extra.
    """
    return Identity(user.username, tuple(groups), {REQUEST_LABEL: public_id})


def as_requester(claim_request: ClaimRequest) -> Kube:
    """Return the API server as whoever asked, with the groups kept for it."""
    identity = identity_of(
        claim_request.requester,
        claim_request.acting_groups,
        str(claim_request.public_id),
    )
    return kube_for(claim_request.plan.cluster, identity)


def as_cleaner(claim_request: ClaimRequest) -> Kube:
    """Return the API server as the portal's cleaner, who may only look and delete.

    What ends by order ends whoever has left, and whatever rights they have lost:
    see docs/adr/0004.
    """
    identity = Identity(CLEANER, (), {REQUEST_LABEL: str(claim_request.public_id)})
    return kube_for(claim_request.plan.cluster, identity)


def as_itself(claim_request: ClaimRequest) -> Kube:
    """Return the API server as the portal's own account, which only reads."""
    return kube_for(claim_request.plan.cluster, AS_ITSELF)
