"""What the fault tests count: where requests stand, how often they moved, what is there."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from django.apps import apps

from claims.domain.lifecycle import State
from claims.domain.manifest import request_id_of
from claims.models import ClaimRequest
from inventory.domain.kinds import BY_NAME
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tests.faults.world import World

SPACE = "ai-serving"


def states_of(claim_requests: Iterable[ClaimRequest]) -> set[str]:
    """Return the states in which requests are now."""
    rows = ClaimRequest.objects.filter(pk__in=[one.pk for one in claim_requests])
    return set(rows.values_list("state", flat=True))


def all_are(claim_requests: Collection[ClaimRequest], state: State) -> bool:
    """Return whether every request is in a state now."""
    return states_of(claim_requests) == {state}


def moves_too_many(claim_requests: Iterable[ClaimRequest], state: State) -> int:
    """Count moves to a state beyond the first of each request."""
    events = apps.get_model("claims", "ClaimRequestEvent").objects
    moves = Counter(events.filter(state=state).values_list("public_id", flat=True))
    return sum(max(moves[one.public_id] - 1, 0) for one in claim_requests)


def objects(world: World, kind: str) -> list[dict[str, Any]]:
    """Return what the cluster has of a kind in the tests' namespace."""
    with closing(connect("demo", world.kubeconfig("admin"))) as link:
        return Kube(link, AS_ITSELF).list(BY_NAME[kind], SPACE).items


def templates(world: World) -> list[dict[str, Any]]:
    """Return the cluster's claim templates in the tests' namespace."""
    return objects(world, "ResourceClaimTemplate")


def duplicates(world: World, claim_requests: Collection[ClaimRequest]) -> int:
    """Count objects beyond the first of a request, and moves to Active likewise."""
    made = Counter(map(request_id_of, templates(world)))
    extra = sum(max(made[str(one.public_id)] - 1, 0) for one in claim_requests)
    return extra + moves_too_many(claim_requests, State.ACTIVE)


def lost(world: World, claim_requests: Iterable[ClaimRequest]) -> int:
    """Count requests whose recorded object is not the one in the cluster."""
    uids = {request_id_of(body): body["metadata"]["uid"] for body in templates(world)}
    for one in claim_requests:
        one.refresh_from_db()
    return sum(uids.get(str(one.public_id)) != one.object_uid for one in claim_requests)
