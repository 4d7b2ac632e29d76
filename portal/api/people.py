"""People, tenants, and what groups of the sign-in provider give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.accounts import second_factor
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.accounts.mappings import MappingRefused, add_mapping, remove_mapping
from portal.accounts.models import GroupMapping, User
from portal.accounts.people import (
    PersonRefused,
    change_person,
    make_person,
    password_link,
    people_found,
    reset_second_factor,
    state_of,
)
from portal.api import people_serializers as serializers
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation, PageParameters, leads_to
from portal.api.problems import ApiProblem, refused_at
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

    from portal.core.errors import FieldRefused


Json = dict[str, Any]

TAG = "people"


def reading(**more: Any) -> Operation:
    """Return an operation by which an administrator reads who there is."""
    return Operation(
        tag=TAG,
        scope=Scope.PEOPLE_READ,
        permission=Permission.MANAGE_PEOPLE,
        **more,
    )


def writing(**more: Any) -> Operation:
    """Return an operation by which an administrator changes who there is."""
    return Operation(
        tag=TAG,
        scope=Scope.PEOPLE_WRITE,
        permission=Permission.MANAGE_PEOPLE,
        bucket="write",
        **more,
    )


def refused(error: FieldRefused) -> ApiProblem:
    """Return a refusal with the place in the body that it is about."""
    return refused_at(error.field, error.code, error.message)


class PersonView(ApiView):
    """A view of one person, or of all."""

    def found(self, pk: int) -> User:
        """Return a person.

        Raises:
            Http404: There is nobody of that id.
        """
        row = people_found().filter(pk=pk).first()
        if row is None:
            raise Http404(_("There is nobody of that id."))
        return row

    def shown(self, row: User) -> Response:
        """Return a person as they now are."""
        return self.answer(_person(row), headers={"ETag": _etag(row)})


def _etag(row: User) -> str:
    return f'"{state_of(row)}"'


def _person(row: User) -> Json:
    return {
        "id": row.pk,
        "username": row.username,
        "roles": sorted(row.roles),
        "tenants": sorted(tenant.name for tenant in row.tenants.all()),
        "isActive": row.is_active,
        "byProvider": bool(row.subject),
        "hasSecondFactor": second_factor.has(row),
        "lastSignInAt": row.last_login,
    }


class PersonList(PersonView):
    """The people that there are, and new ones."""

    operations = {
        "GET": reading(
            id="listPeople",
            summary="List people by name, without service accounts",
            query=serializers.PersonParameters,
            answer=serializers.Person,
            listed=True,
        ),
        "POST": writing(
            id="createPerson",
            links=leads_to(
                "getPerson", "createPasswordLink", matched=("changePerson",)
            ),
            summary="Make an account, whose password is chosen by a link",
            description="Whoever comes by the sign-in provider is made at their first"
            " sign-in. `createPasswordLink` gives the link.",
            body=serializers.PersonBody,
            answer=serializers.Person,
            status=201,
            headers=ETAG,
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of people."""
        return self._rows(people_found(self.wanted["q"]), "username", str, _person)

    def post(self, request: Request) -> Response:
        """Make one."""
        try:
            made = make_person(
                **self.body(), actor=self.person, request_id=self.request_id
            )
        except PersonRefused as error:
            raise refused(error) from error
        return self.shown(made)


class PersonDetail(PersonView):
    """One person."""

    operations = {
        "GET": reading(
            id="getPerson",
            summary="Say who somebody is, and what they may do",
            answer=serializers.Person,
            headers=ETAG,
        ),
        "PUT": writing(
            id="changePerson",
            summary="Set somebody's roles, and whether they may sign in",
            description="Roles of whoever comes by the provider follow their groups.",
            body=serializers.PersonChangeBody,
            answer=serializers.Person,
            needs_match=True,
            headers=ETAG,
            problems=(409, 422),
        ),
    }

    def get(self, request: Request, pk: int) -> Response:
        """Return them."""
        return self.shown(self.found(pk))

    def put(self, request: Request, pk: int) -> Response:
        """Change them, unless somebody did so meanwhile."""
        row, body = self.found(pk), self.body()
        demand_match(request, _etag(row))
        try:
            change_person(
                row,
                seen=state_of(row),
                roles=body["roles"],
                is_active=body["isActive"],
                reason=body["reason"],
                actor=self.person,
                request_id=self.request_id,
            )
        except PersonRefused as error:
            raise refused(error) from error
        return self.shown(self.found(pk))


class PersonLink(PersonView):
    """A link by which somebody chooses a password."""

    operations = {
        "POST": writing(
            id="createPasswordLink",
            shows_secret=True,
            summary="Make the link by which a person chooses a password",
            description="It works once, for three days, and is for that person alone.",
            body=serializers.ReasonBody,
            answer=serializers.Link,
            status=201,
            problems=(422,),
        )
    }

    def post(self, request: Request, pk: int) -> Response:
        """Return the link."""
        path = password_link(
            self.found(pk),
            reason=self.body()["reason"],
            actor=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.answer({"link": request.build_absolute_uri(path)})


class PersonFactor(PersonView):
    """Somebody's second factor."""

    operations = {
        "POST": writing(
            id="resetSecondFactor",
            summary="Forget somebody's second factor, where phone and codes are lost",
            body=serializers.ReasonBody,
            status=204,
            problems=(422,),
        )
    }

    def post(self, request: Request, pk: int) -> Response:
        """Forget it."""
        try:
            reset_second_factor(
                self.found(pk),
                reason=self.body()["reason"],
                actor=self.person,
                request_id=self.request_id,
            )
        except PersonRefused as error:
            raise refused(error) from error
        return Response(status=204)


class MappingList(ApiView):
    """What groups of the provider give."""

    operations = {
        "GET": reading(
            id="listGroupMappings",
            summary="List which groups of the sign-in provider give what",
            query=PageParameters,
            answer=serializers.GroupMapping,
            listed=True,
        ),
        "POST": writing(
            id="createGroupMapping",
            links=leads_to("deleteGroupMapping"),
            summary="Let a group give a role, or membership of a tenant",
            description="It holds from each person's next sign-in.",
            body=serializers.GroupMappingBody,
            answer=serializers.GroupMapping,
            status=201,
            problems=(422,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of mappings, the last made first."""
        rows = GroupMapping.objects.select_related("tenant")
        return self.newest_first(rows, _mapping)

    def post(self, request: Request) -> Response:
        """Make one."""
        try:
            made = add_mapping(
                **self.body(), actor=self.person, request_id=self.request_id
            )
        except MappingRefused as error:
            raise refused(error) from error
        return self.answer(_mapping(made))


class MappingDetail(ApiView):
    """What one group gives."""

    operations = {
        "DELETE": writing(
            id="deleteGroupMapping",
            summary="Take away what a group gives",
            status=204,
        )
    }

    def delete(self, request: Request, pk: int) -> Response:
        """Take it away."""
        if not remove_mapping(pk, actor=self.person, request_id=self.request_id):
            raise Http404(_("There is no mapping of that id."))
        return Response(status=204)


def _mapping(row: GroupMapping) -> Json:
    return {
        "id": row.pk,
        "group": row.group,
        "role": row.role or None,
        "tenant": row.tenant.name if row.tenant else None,
    }
