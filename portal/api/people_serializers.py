"""The shapes of what the API takes and says of people, tenants and groups."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.accounts.domain.roles import Role
from portal.api.operations import PageParameters

MOST_MEMBERS = 10_000


class PersonParameters(PageParameters):
    q = s.CharField(
        default="",
        allow_blank=True,
        max_length=150,
        help_text="Part of a name or of an e-mail address.",
    )


class Person(s.Serializer[Any]):
    id = s.IntegerField()
    username = s.CharField()
    roles = s.ListField(child=s.ChoiceField([role.value for role in Role]))
    tenants = s.ListField(child=s.CharField())
    isActive = s.BooleanField()
    byProvider = s.BooleanField(help_text="Signs in by the provider, not a password.")
    hasSecondFactor = s.BooleanField(help_text="A code is asked after the password.")
    lastSignInAt = s.DateTimeField(allow_null=True)


def _roles() -> s.ListField:
    return s.ListField(child=s.ChoiceField([role.value for role in Role]), default=list)


class PersonBody(s.Serializer[Any]):
    username = s.CharField(
        max_length=150,
        help_text="As the clusters know the person; see docs/sign-in.md.",
    )
    roles = _roles()


class PersonChangeBody(s.Serializer[Any]):
    roles = s.ListField(child=s.ChoiceField([role.value for role in Role]))
    isActive = s.BooleanField()
    reason = s.CharField(default="", allow_blank=True, max_length=500)


class ReasonBody(s.Serializer[Any]):
    reason = s.CharField(default="", allow_blank=True, max_length=500)


class Link(s.Serializer[Any]):
    link = s.CharField(help_text="For that person alone; works once, for three days.")


class GroupMapping(s.Serializer[Any]):
    id = s.IntegerField()
    group = s.CharField()
    role = s.ChoiceField([role.value for role in Role], allow_null=True)
    tenant = s.CharField(allow_null=True)


class GroupMappingBody(s.Serializer[Any]):
    group = s.CharField(max_length=255, help_text="As the provider writes it.")
    role = s.CharField(default="", allow_blank=True, max_length=16)
    tenant = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="A tenant's name."
    )


class Place(s.Serializer[Any]):
    cluster = s.CharField(max_length=63)
    namespace = s.CharField(max_length=63)


class Member(s.Serializer[Any]):
    username = s.CharField()
    by = s.ChoiceField(
        ["hand", "provider", "service-account"],
        help_text="Whoever comes by the provider is a member while a group says so.",
    )


class Tenant(s.Serializer[Any]):
    name = s.CharField()
    group = s.CharField(help_text="The Kubernetes group that its members act with.")
    members = Member(many=True)
    namespaces = Place(many=True)


class TenantChangeBody(s.Serializer[Any]):
    group = s.CharField(max_length=128)
    members = s.ListField(
        child=s.CharField(max_length=150),
        max_length=MOST_MEMBERS,
        help_text="All that are members by hand from now on.",
    )
    namespaces = Place(many=True)
    reason = s.CharField(default="", allow_blank=True, max_length=500)


class TenantBody(s.Serializer[Any]):
    name = s.CharField(max_length=63)
    group = s.CharField(max_length=128)
    members = s.ListField(
        child=s.CharField(max_length=150), max_length=MOST_MEMBERS, default=list
    )
    namespaces = Place(many=True, default=list)
