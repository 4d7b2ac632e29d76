"""The shapes of what every part of the API says, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s


class ProblemError(s.Serializer[Any]):
    """One error of a problem, and the place that it is about."""

    code = s.CharField(help_text="Stable, such as `cel.compile`.")
    detail = s.CharField(help_text="One sentence.")
    pointer = s.CharField(
        required=False, help_text="JSON pointer into the body, as a fragment."
    )
    parameter = s.CharField(required=False, help_text="A query parameter.")
    header = s.CharField(required=False, help_text="A header.")
    level = s.CharField(required=False)
    line = s.IntegerField(
        required=False, help_text="In the value at the place, from 1."
    )
    column = s.IntegerField(required=False, help_text="In code points, from 1.")


class Problem(s.Serializer[Any]):
    """A refusal or a failure. Source: RFC 9457."""

    type = s.CharField(help_text="`urn:slicewise:problem:` and the code.")
    title = s.CharField()
    status = s.IntegerField()
    detail = s.CharField(help_text="One sentence that says what to do.")
    instance = s.CharField(help_text="The path that was asked.")
    code = s.CharField(help_text="Stable: programs decide by it.")
    requestId = s.CharField(help_text="Names the request in our log.")
    errors = ProblemError(many=True)  # type: ignore[assignment]


class OwnNamespace(s.Serializer[Any]):
    cluster = s.CharField()
    namespace = s.CharField()
    tenant = s.CharField()


class Me(s.Serializer[Any]):
    username = s.CharField()
    roles = s.ListField(child=s.CharField())
    permissions = s.ListField(
        child=s.CharField(), help_text="Of the account, within the token."
    )
    scopes = s.ListField(
        child=s.CharField(), allow_null=True, help_text="Of the token; null without."
    )
    tenants = s.ListField(child=s.CharField())
    namespaces = OwnNamespace(many=True)


class Token(s.Serializer[Any]):
    id = s.UUIDField()
    name = s.CharField()
    prefix = s.CharField()
    scopes = s.ListField(child=s.CharField())
    createdAt = s.DateTimeField()
    expiresAt = s.DateTimeField()
    lastUsedAt = s.DateTimeField(allow_null=True)
    revokedAt = s.DateTimeField(allow_null=True)
