"""Drafts of claims, kept for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from claims.api import composing_serializers as shapes
from claims.api.composing import reading, writing
from claims.services.drafting import KEPT_FOR, discard, drafts_of, form_of, keep
from claims.services.writing import from_yaml, manifest_of
from claims.services.yaml_text import dump
from inventory.queries.clusters_by_name import cluster_named
from portal.api.matching import ETAG, demand_match, tag_of
from portal.api.operations import PageParameters, leads_to
from portal.api.problems import ApiProblem, error_at
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

    from claims.domain.draft import Draft
    from claims.models import ComposeDraft

Json = dict[str, Any]


def draft_document(row: ComposeDraft) -> Json:
    """Return a draft with what it would send as it stands."""
    form = form_of(row)
    return {
        "id": str(row.public_id),
        "cluster": row.cluster.name,
        "kind": form.kind,
        "namespace": form.namespace or None,
        "name": form.name or None,
        "manifest": manifest_of(form),
        "origin": row.origin or None,
        "createdAt": row.created_at,
        "changedAt": row.changed_at,
        "expiresAt": row.changed_at + KEPT_FOR,
    }


def etag_of(row: ComposeDraft) -> str:
    """Return what changes whenever the draft does."""
    return tag_of(row.pk, row.changed_at)


class DraftView(ApiView):
    """A view of drafts; everybody has their own."""

    def matched(self, request: Request, key: UUID) -> None:
        """Refuse to change a draft that is not as the caller saw it."""
        row = drafts_of(self.person).filter(public_id=key).first()
        if row is not None or "If-Match" in request.headers:
            demand_match(request, etag_of(row) if row else "")

    def kept(self, key: UUID) -> ComposeDraft:
        """Keep what the body says under a key, and return it.

        Raises:
            ApiProblem: The form cannot hold the manifest.
            DraftRefused: It is not kept.
        """
        body = self.body()
        cluster = cluster_named(body["cluster"])
        form, now = _form(body["manifest"]), timezone.now()
        return keep(self.person, cluster, form, key=key, origin="", now=now)

    def shown(self, row: ComposeDraft) -> Response:
        """Return a draft as it now is."""
        return self.answer(draft_document(row), headers={"ETag": etag_of(row)})


def _form(manifest: Json) -> Draft:
    taken = from_yaml(dump(manifest))
    if taken.draft is None:
        text = _("The form cannot hold this: send a claim or template of v1.")
        places = [
            error_at("pointer", "#/manifest", problem.code, text)
            for _line, problem in taken.problems
        ]
        raise ApiProblem(422, "draft.shape", text, errors=places)
    return taken.draft


class DraftList(DraftView):
    """The caller's drafts, and new ones."""

    operations = {
        "GET": reading(
            id="listDrafts",
            summary="List your drafts, the last made first",
            query=PageParameters,
            answer=shapes.Draft,
            listed=True,
        ),
        "POST": writing(
            id="createDraft",
            links=leads_to("getDraft", matched=("changeDraft", "discardDraft")),
            summary="Keep a manifest as a draft; nothing is asked for",
            body=shapes.DraftBody,
            answer=shapes.Draft,
            status=201,
            headers=ETAG,
            problems=(404, 422),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of drafts."""
        return self.newest_first(drafts_of(self.person).order_by(), draft_document)

    def post(self, request: Request) -> Response:
        """Keep one."""
        return self.shown(self.kept(uuid4()))


class DraftDetail(DraftView):
    """One draft."""

    operations = {
        "GET": reading(
            id="getDraft",
            summary="Return a draft with the manifest that it would send",
            answer=shapes.Draft,
            headers=ETAG,
        ),
        "PUT": writing(
            id="changeDraft",
            summary="Replace a draft, or keep one under your own id",
            body=shapes.DraftBody,
            answer=shapes.Draft,
            may_match=True,
            headers=ETAG,
            problems=(404, 422),
        ),
        "DELETE": writing(
            id="discardDraft",
            summary="Discard a draft; what is not there is discarded",
            status=204,
            may_match=True,
        ),
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the draft."""
        row = drafts_of(self.person).filter(public_id=id).first()
        if row is None:
            raise Http404(_("You have no draft of that id."))
        return self.shown(row)

    def put(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Replace it, unless it changed meanwhile."""
        with transaction.atomic():
            drafts_of(self.person).filter(public_id=id).select_for_update(
                of=("self",)
            ).first()
            self.matched(request, id)
            return self.shown(self.kept(id))

    def delete(self, request: Request, id: UUID) -> Response:  # noqa: A002  as above
        """Discard it."""
        self.matched(request, id)
        discard(self.person, id)
        return Response(status=204)
