"""The shapes of what the API takes and says of people, tenants and groups."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers as s

from portal.accounts.domain.roles import Role
from portal.accounts.domain.scopes import Scope
from portal.api.operations import PageParameters
from portal.api.serializers import Token

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


class ServiceAccount(s.Serializer[Any]):
    id = s.IntegerField()
    username = s.CharField(help_text="As the clusters know it.")
    tenant = s.CharField()
    name = s.CharField()


class ServiceAccountBody(s.Serializer[Any]):
    tenant = s.CharField(max_length=63, help_text="One of yours.")
    name = s.RegexField(
        r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?\Z",
        max_length=42,
        help_text="Small letters, digits and dashes, such as nightly-ci.",
    )


class TokenBody(s.Serializer[Any]):
    name = s.CharField(max_length=63, help_text="What it is for.")
    scopes = s.ListField(
        child=s.ChoiceField([scope.value for scope in Scope]),
        min_length=1,
        max_length=len(Scope),
        help_text="What it may be used for.",
    )
    days = s.IntegerField(
        min_value=1, max_value=365, default=90, help_text="It ends after so many."
    )
    addresses = s.ListField(
        child=s.CharField(max_length=50),
        default=list,
        max_length=50,
        help_text="Networks such as 10.0.0.0/8; from anywhere where it is empty.",
    )

    def validate_addresses(self, words: list[str]) -> list[str]:
        """Return the networks, as they are written everywhere."""
        try:
            return [str(ip_network(word, strict=False)) for word in words]
        except ValueError as error:
            raise s.ValidationError(
                _("One is no network: write it as 10.0.0.0/8.")
            ) from error


class MadeToken(Token):
    token = s.CharField(help_text="The token itself, shown this once.")
