"""What one method of one address does: the one place that access, checks and docs read.

A view declares its operations; who may call it, which parameters it takes, what
counts against which limit, and the OpenAPI document all follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rest_framework import serializers

if TYPE_CHECKING:
    from drf_spectacular.utils import OpenApiExample

    from portal.accounts.domain.roles import Permission
    from portal.accounts.domain.scopes import Scope

AnySerializer = type[serializers.Serializer[Any]]

DEFAULT_LIMIT = 50
MOST_LIMIT = 500


class NoParameters(serializers.Serializer[Any]):
    """No query parameters but those that every operation has."""


class PageParameters(serializers.Serializer[Any]):
    """Where a page of a list begins, and how long it is."""

    limit = serializers.IntegerField(
        min_value=1,
        max_value=MOST_LIMIT,
        default=DEFAULT_LIMIT,
        help_text="How many items at most.",
    )
    cursor = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=4_000,
        help_text="The `cursor` of the page before; the first page without it.",
    )


Links = tuple[tuple[str, dict[str, str]], ...]


def leads_to(*names: str, matched: tuple[str, ...] = (), by: str = "id") -> Links:
    """Return links from what was made to what reads, and what changes it by its ETag.

    Args:
        names: operations that need its name alone.
        matched: those that need If-Match, too.
        by: the member and the parameter that hold the name.
    """
    named = {by: f"$response.body#/{by}"}
    seen = {**named, "If-Match": "$response.header.ETag"}
    return (
        *((name, dict(named)) for name in names),
        *((name, dict(seen)) for name in matched),
    )


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one address.

    Attributes:
        id: the operationId, such as "listDevices".
        summary: one line.
        description: Markdown, for what the line leaves open.
        scope: what a token must have; None where every token will do.
        permission: what the person must have.
        query: the parameters; any other is refused.
        body: the JSON body, if there is one.
        yaml: the body may be YAML manifests instead.
        answer: the document, or an item of it where it is `listed`.
        status: of success.
        bucket: which limit it counts against: read, check or write.
        is_idempotent: its handler sees to an Idempotency-Key itself. Every other
            POST that writes takes one, too, by the view, unless it shows a secret.
        shows_secret: its answer holds what is shown once, and is never kept.
        needs_match: it demands If-Match.
        may_match: it demands If-Match where the thing is there already.
        headers: of the answer, name → what it says.
        media: of the answer, where it is no JSON.
        problems: further statuses of refusals.
        links: operations that follow, each with its parameters as runtime
            expressions of OpenAPI over this one's answer.
    """

    id: str
    summary: str
    scope: Scope | None
    tag: str
    description: str = ""
    permission: Permission | None = None
    query: AnySerializer = NoParameters
    body: AnySerializer | None = None
    yaml: bool = False
    answer: AnySerializer | None = None
    listed: bool = False
    status: int = 200
    bucket: str = "read"
    is_idempotent: bool = False
    shows_secret: bool = False
    needs_match: bool = False
    may_match: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    media: str = "application/json"
    problems: tuple[int, ...] = ()
    examples: tuple[OpenApiExample, ...] = ()
    links: Links = ()

    @property
    def is_sparse(self) -> bool:
        """Whether `fields` may leave members of the answer out."""
        return self.answer is not None and self.body is None

    def takes_key(self, method: str) -> bool:
        """Whether it takes an Idempotency-Key."""
        writes = method == "POST" and self.bucket == "write"
        return self.is_idempotent or (writes and not self.shows_secret)

    @property
    def members(self) -> frozenset[str]:
        """The members of the answer, or of each item."""
        return frozenset(self.answer().fields) if self.answer else frozenset()
