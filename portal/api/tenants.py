"""Tenants: the caller's own, or all, and changing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.accounts.domain.scopes import Scope
from portal.accounts.tenants import (
    TenantRefused,
    Wanted,
    change_tenant,
    make_tenant,
    remove_tenant,
    tenants_for,
)
from portal.api import people_serializers as serializers
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation, PageParameters, leads_to
from portal.api.people import TAG, refused, writing
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.accounts.models import Tenant, User

Json = dict[str, Any]


class TenantView(ApiView):
    """A view of one tenant, or of all."""

    def visible(self, name: str) -> Tenant:
        """Return a tenant that the caller may look at.

        Raises:
            Http404: There is none of that name for this caller.
        """
        row = tenants_for(self.person).filter(name=name).first()
        if row is None:
            raise Http404(_("There is no tenant of that name for you."))
        return row

    def shown(self, row: Tenant) -> Response:
        """Return a tenant as it now is."""
        return self.answer(_document(row), headers={"ETag": _etag(row)})

    def demanded(self, request: Request, name: str) -> Tenant:
        """Return a tenant, unless it is not as the caller saw it."""
        row = self.visible(name)
        demand_match(request, _etag(row))
        return row


def _etag(row: Tenant) -> str:
    # Members by a group of the provider come and go without a version.
    return f'"tenant-{row.pk}-{row.version}"'


def _document(row: Tenant) -> Json:
    members = [user for user in row.members.all() if user.is_active]
    places = row.namespaces.all()
    return {
        "name": row.name,
        "group": row.group,
        "members": [
            {"username": user.username, "by": _by(user)}
            for user in sorted(members, key=lambda user: user.username)
        ],
        "namespaces": [
            {"cluster": cluster, "namespace": namespace}
            for cluster, namespace in sorted((p.cluster, p.namespace) for p in places)
        ],
    }


def _by(user: User) -> str:
    if user.service_of_id is not None:
        return "service-account"
    return "provider" if user.subject else "hand"


def _wanted(body: Json) -> Wanted:
    return Wanted(
        body["group"],
        frozenset(body["members"]),
        frozenset((each["cluster"], each["namespace"]) for each in body["namespaces"]),
    )


class TenantList(TenantView):
    """The tenants that there are, and new ones."""

    operations = {
        "GET": Operation(
            id="listTenants",
            summary="List your tenants, or all where you may see them",
            tag=TAG,
            scope=Scope.GOVERN_READ,
            query=PageParameters,
            answer=serializers.Tenant,
            listed=True,
        ),
        "POST": writing(
            id="createTenant",
            links=leads_to(
                "getTenant", matched=("changeTenant", "deleteTenant"), by="name"
            ),
            summary="Make a tenant, with its members and namespaces",
            body=serializers.TenantBody,
            answer=serializers.Tenant,
            status=201,
            headers=ETAG,
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of tenants."""
        return self.by_name(tenants_for(self.person), _document)

    def post(self, request: Request) -> Response:
        """Make one."""
        body = self.body()
        try:
            made = make_tenant(
                body["name"],
                _wanted(body),
                actor=self.person,
                request_id=self.request_id,
            )
        except TenantRefused as error:
            raise refused(error) from error
        return self.shown(made)


class TenantDetail(TenantView):
    """One tenant."""

    operations = {
        "GET": Operation(
            id="getTenant",
            summary="Say who is in a tenant, and which namespaces are its own",
            tag=TAG,
            scope=Scope.GOVERN_READ,
            answer=serializers.Tenant,
            headers=ETAG,
        ),
        "PUT": writing(
            id="changeTenant",
            summary="Set a tenant's group, members and namespaces",
            description="Members by the provider and service accounts stay as they are,"
            " whether `members` names them or not.",
            body=serializers.TenantChangeBody,
            answer=serializers.Tenant,
            needs_match=True,
            headers=ETAG,
            problems=(409, 422),
        ),
        "DELETE": writing(
            id="deleteTenant",
            summary="Remove a tenant that nothing was ever asked for",
            status=204,
            needs_match=True,
            problems=(409,),
        ),
    }

    def get(self, request: Request, name: str) -> Response:
        """Return the tenant."""
        return self.shown(self.visible(name))

    def put(self, request: Request, name: str) -> Response:
        """Change it, unless somebody did so meanwhile."""
        row, body = self.demanded(request, name), self.body()
        try:
            change_tenant(
                row,
                _wanted(body),
                version=row.version,
                reason=body["reason"],
                actor=self.person,
                request_id=self.request_id,
            )
        except TenantRefused as error:
            raise refused(error) from error
        return self.shown(self.visible(name))

    def delete(self, request: Request, name: str) -> Response:
        """Remove it."""
        row = self.demanded(request, name)
        remove_tenant(
            row,
            version=row.version,
            reason="",
            actor=self.person,
            request_id=self.request_id,
        )
        return Response(status=204)
