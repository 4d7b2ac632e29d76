"""Presets: the catalogue, what is free of one, and a manifest made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from claims.api import preset_serializers as shapes
from claims.api.base import judging
from claims.queries.presets import offered_to, seen_by
from claims.services.diagnosing import hidden_from
from claims.services.preset_editing import (
    Change,
    PresetInvalid,
    activate,
    change_preset,
    content_of,
    make_preset,
)
from claims.services.presets import PresetRefused, filled, room_for
from claims.services.writing import manifest_of
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation, PageParameters
from portal.api.problems import ApiProblem, error_at
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.models import Preset, PresetVersion
    from claims.services.presets import Room

Json = dict[str, Any]

TAG = "presets"


def _changing(**more: Any) -> Operation:
    return Operation(
        scope=Scope.GOVERN_WRITE,
        permission=Permission.MANAGE_PRESETS,
        tag=TAG,
        answer=shapes.Preset,
        bucket="write",
        headers=ETAG,
        problems=(409, 422),
        **more,
    )


def etag_of(row: Preset) -> str:
    """Return the ETag of a preset as it stands."""
    return f'"preset-{row.pk}-{row.version}"'


def preset_document(row: Preset) -> Json:
    """Return a preset with the version that is offered, or else its newest."""
    version = row.active or row.versions.order_by("-number")[0]
    own = None if row.for_all else sorted(each.name for each in row.tenants.all())
    return {
        "name": row.name,
        "title": version.title,
        "description": version.description,
        "category": version.category,
        "manifest": version.manifest,
        "fields": version.fields,
        "tenants": own,
        "version": row.active.number if row.active else None,
        "versions": row.versions.count(),
        "changedBy": row.changed_by,
        "changedAt": row.changed_at,
    }


class PresetView(ApiView):
    """A view of one preset, or of all."""

    def found(self, name: str) -> Preset:
        """Return a preset that the caller may see.

        Raises:
            Http404: There is none of that name for this caller.
        """
        row = seen_by(self.person).filter(name=name).first()
        if row is None:
            raise Http404(_("There is no preset of that name for you."))
        return row

    def document(self, row: Preset) -> Json:
        """Return a preset; which other tenants have it is for those who keep it."""
        body = preset_document(row)
        if body["tenants"] is not None and not self.person.may(
            Permission.MANAGE_PRESETS
        ):
            own = set(self.person.tenants.values_list("name", flat=True))
            body["tenants"] = [name for name in body["tenants"] if name in own]
        return body

    def shown(self, row: Preset) -> Response:
        """Return a preset as it stands."""
        return self.answer(self.document(row), headers={"ETag": etag_of(row)})

    def by(self) -> Change:
        """Return who changes it now."""
        return Change(self.person.username, timezone.now(), self.request_id)


def _invalid(error: PresetInvalid) -> ApiProblem:
    places = [error_at("pointer", f"#/{error.field}", error.code, error.message)]
    return ApiProblem(422, error.code, error.message, errors=places)


class PresetList(PresetView):
    """The catalogue, and new presets."""

    operations = {
        "GET": Operation(
            id="listPresets",
            summary="List the presets that are offered to you",
            description="Administrators see those that are offered to nobody, too.",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            query=PageParameters,
            answer=shapes.Preset,
            listed=True,
        ),
        "POST": _changing(
            id="createPreset",
            summary="Add a preset and offer it",
            body=shapes.PresetBody,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of presets by name."""
        return self.by_name(seen_by(self.person), self.document)

    def post(self, request: Request) -> Response:
        """Make a preset."""
        body = self.body()
        try:
            return self.shown(make_preset(body["name"], content_of(body), self.by()))
        except PresetInvalid as error:
            raise _invalid(error) from error


class PresetDetail(PresetView):
    """One preset."""

    operations = {
        "GET": Operation(
            id="getPreset",
            summary="Say what a preset is, and what it lets you change",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            answer=shapes.Preset,
            headers=ETAG,
        ),
        "PUT": _changing(
            id="changePreset",
            summary="Give a preset a new version and offer that",
            body=shapes.PresetContent,
            needs_match=True,
        ),
    }

    def get(self, request: Request, preset: str) -> Response:
        """Return the preset, or 304."""
        return self.shown(self.found(preset))

    def put(self, request: Request, preset: str) -> Response:
        """Give it a new version, unless somebody did so meanwhile."""
        row = self.found(preset)
        body = self.body()
        demand_match(request, etag_of(row))
        try:
            changed = change_preset(row, row.version, content_of(body), self.by())
        except PresetInvalid as error:
            raise _invalid(error) from error
        return self.shown(changed)


class PresetOffer(PresetView):
    """Which version of a preset is offered."""

    operations = {
        "POST": _changing(
            id="offerPreset",
            summary="Offer a version of a preset, or none",
            body=shapes.OfferBody,
            needs_match=True,
        )
    }

    def post(self, request: Request, preset: str) -> Response:
        """Offer it, unless somebody changed it meanwhile."""
        row = self.found(preset)
        body = self.body()
        demand_match(request, etag_of(row))
        try:
            return self.shown(activate(row, row.version, body["version"], self.by()))
        except PresetInvalid as error:
            raise _invalid(error) from error


class OfferedView(ClusterView):
    """A preset on a cluster."""

    def offered(self, name: str) -> PresetVersion:
        """Return what is offered under a name to the caller.

        Raises:
            Http404: Nothing is.
        """
        row = offered_to(self.person).filter(name=name).first()
        if row is None or row.active is None:
            raise Http404(_("There is no preset of that name for you."))
        return row.active


def room_document(room: Room) -> Json:
    """Return how often a preset fits; null where that is not known."""
    return {
        "nodes": None if room.problem else room.nodes,
        "copies": room.copies,
        "atLeast": room.at_least,
        "problem": room.problem or None,
        "why": room.why or None,
    }


class PresetRoom(OfferedView):
    """How often a preset fits."""

    operations = {
        "GET": judging(
            id="getPresetRoom",
            summary="Say how often a preset fits now, as the scheduler would place it",
            answer=shapes.Room,
        )
    }

    def get(self, request: Request, cluster: str, preset: str) -> Response:
        """Return on how many nodes, and how often."""
        found = self.cluster()
        hide = hidden_from(self.person, found)
        room = room_for(found, self.offered(preset), hide=hide)
        return self.answer(room_document(room))


class PresetRender(OfferedView):
    """A manifest from a preset."""

    operations = {
        "POST": judging(
            id="renderPreset",
            summary="Return the manifest of a preset with its open fields filled in",
            description="Locked fields and bounds are held; nothing is applied."
            " Submit the manifest as a claim request.",
            body=shapes.RenderBody,
            answer=shapes.Rendered,
        )
    }

    def post(self, request: Request, cluster: str, preset: str) -> Response:
        """Return it, or which fields are refused."""
        self.cluster()
        version = self.offered(preset)
        body = self.body()
        given = {"name": body["name"], "namespace": body["namespace"]}
        try:
            draft = filled(version, {**body["values"], **given})
        except PresetRefused as error:
            places = [
                error_at("pointer", f"#/values/{name}", error.code, text)
                for name, text in error.found
            ]
            raise ApiProblem(422, error.code, error.message, errors=places) from error
        return self.answer({"version": version.number, "manifest": manifest_of(draft)})
