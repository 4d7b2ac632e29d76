"""End what a request made: the pods that were agreed to, the object, its claims.

Released means seen gone. A pod that nobody agreed to end is left alone, and said.
Everything here may be repeated: what is not found is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from claims.domain.follow import claims_of, users_of
from claims.domain.lifecycle import State
from claims.domain.manifest import CLAIM, request_id_of
from claims.queries.requests import applied_object
from claims.services import faults
from claims.services.acting import as_cleaner, as_itself, as_requester
from claims.services.moving import WORKER, add_ending_pods, move
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import ConflictingVersion, NotFound
from portal.accounts.queries import groups_of
from portal.core.errors import PortalError
from portal.core.sentences import Said
from portal.core.wake import wake

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claims.models import ClaimRequest
    from inventory.gateways.kube import Kube
    from portal.accounts.models import User

Json = dict[str, Any]


class NotReleasable(PortalError):
    """The request is not in a state in which there is anything to release."""

    code = "release.nothing_to_release"


class StillThere(PortalError):
    """Something has not ended yet; it is looked at again.

    Attributes:
        soon: it was told to end just now, so that a look in a moment is worth it.
    """

    code = "release.still_there"
    permanent = False

    def __init__(self, said: Said, *, soon: bool) -> None:
        super().__init__(said)
        self.soon = soon


@dataclass(frozen=True)
class _Seen:
    """What the API server had when it was asked."""

    object: Json | None
    claims: list[Json]
    pods: list[Json]


@transaction.atomic
def release(
    claim_request: ClaimRequest,
    *,
    user: User,
    pods: Iterable[tuple[str, str]],
    request_id: str,
    now: datetime,
) -> None:
    """Begin to release a request, or add pods to a release that has begun.

    Args:
        claim_request: an active, expired or revoked one, or one being released.
        user: its requester, who says so.
        pods: name and uid of those that the person agreed to end.
        request_id: of the HTTP request, for the audit trail.
        now: the moment of asking.

    Raises:
        NotReleasable: It stands elsewhere by now.
    """
    agreed = [{"name": name, "uid": uid} for name, uid in pods]
    claim_request.request_id = request_id
    begun = bool(claim_request.object_uid) and move(
        claim_request,
        State.RELEASING,
        actor=user.username,
        now=now,
        ending_pods=agreed,
        acting_groups=groups_of(user),
    )
    added = begun or add_ending_pods(claim_request, agreed, actor=user.username)
    if not added:
        raise NotReleasable(
            _("There is nothing to release: this request is %(state)s by now.")
            % {"state": claim_request.state}
        )
    faults.reach(faults.ORDERED)
    # It counts from here on, whether or not a worker hears of it.
    transaction.on_commit(partial(faults.reach, faults.RELEASE_BEGUN))
    wake("claims.apply", claim_request_id=claim_request.pk)


def end(claim_request: ClaimRequest, *, now: datetime) -> None:
    """Delete what a leased release is to end; record it Released once all is gone.

    Raises:
        StillThere: Something has yet to end.
        PortalError: The API server does not let this person, or does not answer.
    """
    faults.reach(faults.BEFORE_DELETE)
    if claim_request.ended_by:
        _end_everything(claim_request)
    else:
        _end_agreed(claim_request)
    faults.reach(faults.DELETED)
    move(claim_request, State.RELEASED, actor=WORKER, now=now)
    faults.reach(faults.RELEASED)


def _end_agreed(claim_request: ClaimRequest) -> None:
    """Delete the object and the agreed pods, as whoever asked for it."""
    reader, person = as_itself(claim_request), as_requester(claim_request)
    _delete_object(claim_request, person)
    agreed = {pod["uid"] for pod in claim_request.ending_pods}
    told = False
    for pod in _seen(claim_request, reader).pods:
        if pod["metadata"]["uid"] in agreed and not _is_ending(pod):
            _delete(person, "Pod", pod["metadata"])
            told = True
    left = _seen(claim_request, reader)
    if left.object or left.claims:
        raise StillThere(_what_is_left(left, agreed), soon=told)


def _end_everything(claim_request: ClaimRequest) -> None:
    """Delete the object, then every pod and claim of it, as the portal's cleaner.

    The object first, so that nothing new is made from it. A pod holds its devices
    until it is gone, hence gone is what counts.
    """
    reader, cleaner = as_itself(claim_request), as_cleaner(claim_request)
    # A claim is asked for before it goes: afterwards its pods cannot be told apart.
    seen = _seen(claim_request, reader)
    _delete_object(claim_request, cleaner)
    told = False
    for kind, bodies in (("Pod", seen.pods), ("ResourceClaim", seen.claims)):
        for body in bodies:
            if not _is_ending(body):
                _delete(cleaner, kind, body["metadata"])
                told = True
    left = _seen(claim_request, reader)
    if left.object or left.claims or left.pods:
        names = [body["metadata"]["name"] for body in [*left.pods, *left.claims]]
        said = Said(
            "release.still_there.ordered",
            {
                "who": claim_request.ended_by,
                "names": ", ".join(names or [claim_request.plan.name]),
            },
        )
        raise StillThere(said, soon=told)


def _delete_object(claim_request: ClaimRequest, person: Kube) -> None:
    plan = claim_request.plan
    metadata = {
        "name": plan.name,
        "namespace": plan.namespace,
        "uid": claim_request.object_uid,
    }
    _delete(person, plan.kind, metadata)


def _delete(person: Kube, kind: str, metadata: Json) -> None:
    """Delete this very object; one that is gone or has been replaced is done."""
    try:
        person.delete(
            BY_NAME[kind],
            metadata["name"],
            metadata["namespace"],
            uid=metadata["uid"],
        )
    except (NotFound, ConflictingVersion):
        return


def _seen(claim_request: ClaimRequest, reader: Kube) -> _Seen:
    plan, applied = claim_request.plan, applied_object(claim_request)
    pods = users_of(applied, reader.list(BY_NAME["Pod"], plan.namespace).items)
    claims = reader.list(BY_NAME["ResourceClaim"], plan.namespace).items
    try:
        found: Json | None = reader.get(BY_NAME[plan.kind], plan.name, plan.namespace)
    except NotFound:
        found = None
    made = claims_of(applied, pods, claims)
    if found and found["metadata"]["uid"] != claim_request.object_uid:
        # Another object of that name: what it makes is no business of ours.
        found, made = None, [one for one in made if _is_ours(claim_request, one)]
    return _Seen(found, [dict(claim) for claim in made], [dict(pod) for pod in pods])


def _is_ours(claim_request: ClaimRequest, claim: Mapping[str, Any]) -> bool:
    if claim_request.plan.kind == CLAIM:
        return bool(claim["metadata"]["uid"] == claim_request.object_uid)
    return request_id_of(claim) == str(claim_request.public_id)


def _is_ending(body: Json) -> bool:
    return bool(body["metadata"].get("deletionTimestamp"))


def _what_is_left(left: _Seen, agreed: set[str]) -> Said:
    unasked = [
        pod["metadata"]["name"]
        for pod in left.pods
        if pod["metadata"]["uid"] not in agreed and not _is_ending(pod)
    ]
    if unasked:
        return Said(
            "release.still_there.unasked",
            {"count": len(unasked), "names": ", ".join(unasked)},
        )
    names = [body["metadata"]["name"] for body in left.claims]
    if not names and left.object:
        names = [left.object["metadata"]["name"]]
    return Said("release.still_there", {"names": ", ".join(names)})
