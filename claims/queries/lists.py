"""Claim requests and claims in pages that stay right while rows come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.models import ClaimRequest
from claims.queries.claims import narrowed, visible_claims, with_pods
from claims.queries.requests import visible_to
from portal.core.keyset import Page, decoded, decoded_moment, page_of, rows_after

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from claims.domain.follow import FollowedClaim
    from inventory.models import Cluster
    from portal.accounts.models import User

_REQUEST_KEY = ("submitted_at", "pk")
_CLAIM_KEY = ("namespace", "name")


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """What is wanted of claim requests; empty means all."""

    states: tuple[str, ...] = ()
    cluster: str = ""
    namespace: str = ""
    name: str = ""
    tenant: str = ""
    mine: bool = False


def request_page(
    user: User, wanted: RequestFilter, *, cursor: str, limit: int
) -> Page[ClaimRequest]:
    """Return a page of the requests that a person may see, newest first; one query.

    Raises:
        BadCursor: It is none of this list.
    """
    rows = rows_after(
        _filtered(visible_to(user), user, wanted),
        _REQUEST_KEY,
        decoded_moment(cursor),
        descending=True,
    )
    return page_of(
        list(rows[: limit + 1]),
        limit,
        lambda row: (row.submitted_at.isoformat(), row.pk),
    )


def _filtered(
    rows: QuerySet[ClaimRequest], user: User, wanted: RequestFilter
) -> QuerySet[ClaimRequest]:
    exact = {
        "plan__cluster__name": wanted.cluster,
        "plan__namespace": wanted.namespace,
        "plan__name": wanted.name,
        "tenant__name": wanted.tenant,
    }
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if wanted.states:
        rows = rows.filter(state__in=wanted.states)
    if wanted.mine:
        rows = rows.filter(requester=user)
    return rows


def claim_page(
    user: User,
    cluster: Cluster,
    *,
    text: str,
    namespace: str,
    cursor: str,
    limit: int,
) -> Page[FollowedClaim]:
    """Return a page of the claims that a person may see; three queries at most.

    Raises:
        BadCursor: It is none of this list.
    """
    rows = narrowed(visible_claims(user, cluster), text=text, namespace=namespace)
    key = decoded(cursor, (str, str))
    found = list(rows_after(rows, _CLAIM_KEY, key)[: limit + 1])
    page = page_of(found, limit, lambda row: (row.namespace, row.name))
    return Page(with_pods(cluster, page.items), page.following)
