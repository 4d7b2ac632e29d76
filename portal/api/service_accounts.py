"""Service accounts of the caller's tenants, and their tokens."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.accounts.domain.scopes import Scope
from portal.accounts.models import ApiToken
from portal.accounts.queries import service_accounts_of
from portal.accounts.services import (
    NameTaken,
    end_service_account,
    make_service_account,
)
from portal.accounts.tokens import make_token, revoke_token, tokens_of
from portal.api import people_serializers as serializers
from portal.api.operations import Operation, PageParameters, leads_to
from portal.api.own import token_document
from portal.api.problems import ApiProblem, refused_at
from portal.api.serializers import Token
from portal.api.views import ApiView
from portal.audit.context import acting

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import User

Json = dict[str, Any]
TAG = "service accounts"


def _reading(**more: Any) -> Operation:
    return Operation(tag=TAG, scope=Scope.PEOPLE_READ, **more)


def _writing(**more: Any) -> Operation:
    return Operation(tag=TAG, scope=Scope.PEOPLE_WRITE, bucket="write", **more)


class ServiceAccountView(ApiView):
    """A view of one service account, or of all of the caller's tenants."""

    def found(self, pk: int) -> User:
        """Return a service account of one of the caller's tenants.

        Raises:
            Http404: There is none of that id for them.
        """
        row = service_accounts_of(self.person).filter(pk=pk).first()
        if row is None:
            raise Http404(_("There is no service account of that id in your teams."))
        return row

    def by_a_person(self) -> None:
        """Refuse a service account: only people make others, or end them.

        Raises:
            ApiProblem: 403.
        """
        if self.person.service_of_id is not None:
            text = _("A service account cannot change service accounts: sign in.")
            raise ApiProblem(403, "auth.person", text)


def _account(row: User) -> Json:
    assert row.service_of is not None  # noqa: S101  the query's own condition
    return {
        "id": row.pk,
        "username": row.username,
        "tenant": row.service_of.name,
        "name": row.username.rpartition(":")[2],
    }


class ServiceAccountList(ServiceAccountView):
    """The service accounts of one's tenants, and new ones."""

    operations = {
        "GET": _reading(
            id="listServiceAccounts",
            summary="List the service accounts of your tenants by name",
            query=PageParameters,
            answer=serializers.ServiceAccount,
            listed=True,
        ),
        "POST": _writing(
            id="createServiceAccount",
            summary="Make an account of a tenant that only tokens sign in as",
            body=serializers.ServiceAccountBody,
            answer=serializers.ServiceAccount,
            status=201,
            problems=(422,),
            links=leads_to(
                "getServiceAccount",
                "listServiceAccountTokens",
                "createServiceAccountToken",
                "endServiceAccount",
            ),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of accounts."""
        return self._rows(service_accounts_of(self.person), "username", str, _account)

    def post(self, request: Request) -> Response:
        """Make one."""
        self.by_a_person()
        body = self.body()
        tenant = self.person.tenants.filter(name=body["tenant"]).first()
        if tenant is None:
            text = _("You are in no team of that name.")
            raise refused_at("tenant", "accounts.no_tenant", text)
        try:
            with acting(actor=self.person.username, request_id=self.request_id):
                made = make_service_account(tenant=tenant, name=body["name"])
        except NameTaken as error:
            raise refused_at("name", error.code, error.message) from error
        return self.answer(_account(made))


class ServiceAccountDetail(ServiceAccountView):
    """One service account."""

    operations = {
        "GET": _reading(
            id="getServiceAccount",
            summary="Say whose a service account is",
            answer=serializers.ServiceAccount,
        ),
        "DELETE": _writing(
            id="endServiceAccount",
            summary="End a service account with its tokens; its name stays taken",
            status=204,
        ),
    }

    def get(self, request: Request, pk: int) -> Response:
        """Return it."""
        return self.answer(_account(self.found(pk)))

    def delete(self, request: Request, pk: int) -> Response:
        """End it."""
        row = self.found(pk)
        self.by_a_person()
        with acting(actor=self.person.username, request_id=self.request_id):
            end_service_account(row, now=timezone.now())
        return Response(status=204)


class ServiceTokenList(ServiceAccountView):
    """The tokens of a service account, and new ones."""

    operations = {
        "GET": _reading(
            id="listServiceAccountTokens",
            summary="List a service account's tokens, without what is secret of them",
            query=PageParameters,
            answer=Token,
            listed=True,
        ),
        "POST": _writing(
            id="createServiceAccountToken",
            shows_secret=True,
            summary="Make a token of a service account, shown this once",
            description="Made with a token, it has no use, no end and no network that"
            " this one lacks.",
            body=serializers.TokenBody,
            answer=serializers.MadeToken,
            status=201,
            problems=(422,),
        ),
    }

    def get(self, request: Request, pk: int) -> Response:
        """Return a page of tokens, the last made first."""
        return self.newest_first(tokens_of(self.found(pk)), token_document)

    def post(self, request: Request, pk: int) -> Response:
        """Make one."""
        account = self.found(pk)
        self.by_a_person()
        body, now = self.body(), timezone.now()
        if isinstance(request.auth, ApiToken):
            body["addresses"] = body["addresses"] or request.auth.addresses
            _within(body, request.auth)
        with acting(actor=self.person.username, request_id=self.request_id):
            row, secret = make_token(user=account, **body, now=now)
        document = {**token_document(row), "token": secret}
        return self.answer(document, headers={"Cache-Control": "no-store"})


class ServiceTokenDetail(ServiceAccountView):
    """One token of a service account."""

    operations = {
        "DELETE": _writing(
            id="revokeServiceAccountToken",
            summary="Revoke a token of a service account",
            status=204,
        )
    }

    def delete(self, request: Request, pk: int, token_id: UUID) -> Response:
        """End the token."""
        account = self.found(pk)
        self.by_a_person()
        with acting(actor=self.person.username, request_id=self.request_id):
            done = revoke_token(user=account, public_id=token_id, now=timezone.now())
        if not done:
            raise Http404(_("It has no such token that still works."))
        return Response(status=204)


def _within(body: Json, token: ApiToken) -> None:
    """Refuse a token that could do more, from more places or longer than another.

    Raises:
        ApiProblem: 422, with the place.
    """
    lacking = sorted(set(body["scopes"]) - set(token.scopes))
    if lacking:
        text = _("Your own token lacks the use %(scope)s: leave it out.")
        raise refused_at("scopes", "tokens.scope", text % {"scope": lacking[0]})
    left = (token.expires_at - timezone.now()).days
    if body["days"] > max(left, 1):
        text = _("Your own token ends sooner: ask for at most %(days)d days.")
        raise refused_at("days", "tokens.days", text % {"days": max(left, 1)})
    for each in body["addresses"]:
        if token.addresses and not _lies_in(each, token.addresses):
            text = _("Your own token does not work from %(network)s: leave it out.")
            raise refused_at("addresses", "tokens.address", text % {"network": each})


def _lies_in(network: str, others: list[str]) -> bool:
    inner = ip_network(network)
    return any(
        inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]
        for outer in map(ip_network, others)
    )
