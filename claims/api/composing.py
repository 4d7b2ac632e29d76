"""What the composer does besides: templates to begin from, the builder, what is free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.response import Response

from claims.api import composing_serializers as shapes
from claims.api.base import age_of, judging, refused
from claims.api.presets import room_document
from claims.domain.building import BadValue
from claims.domain.manifest import API_VERSION, DOMAIN, TEMPLATE, class_names
from claims.queries.presets import offered_to
from claims.services.available import free_now, quotas_of
from claims.services.building import condition_for
from claims.services.catalogue import seen_keys
from claims.services.diagnosing import diagnose, hidden_from
from claims.services.domain_room import DomainPreview
from claims.services.judging import refuse_foreign
from claims.services.origins import cleaned, users_of_template
from claims.services.presets import room_for
from claims.services.readable import (
    keeper_of,
    readable_by,
    template_for,
    templates_for,
)
from claims.services.requesting import sound
from claims.services.submit import SubmitRefused
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.accounts.queries import namespaces_of
from portal.api.operations import Operation, PageParameters
from portal.api.problems import refused_at
from portal.core.keyset import decoded, list_page, page_of, rows_after

if TYPE_CHECKING:
    from rest_framework.request import Request

    from claims.services.catalogue import SeenKey
    from inventory.models import KubeObject
    from inventory.services.availability import ClassUse

Json = dict[str, Any]

TAG = "composing"


def reading(**more: Any) -> Operation:
    """Return an operation that reads what composing needs."""
    return Operation(scope=Scope.CLAIMS_READ, tag=TAG, **more)


def writing(**more: Any) -> Operation:
    """Return an operation that changes what composers keep."""
    return Operation(
        scope=Scope.CLAIMS_WRITE,
        permission=Permission.COMPOSE,
        tag=TAG,
        bucket="write",
        **more,
    )


def template_document(row: KubeObject, own: frozenset[str]) -> Json:
    """Return a template without its manifest."""
    return {
        "namespace": row.namespace,
        "name": row.name,
        "uid": row.uid,
        "classes": class_names({"kind": TEMPLATE, **row.body}),
        "keptBy": keeper_of(row.body) or None,
        "yours": row.namespace in own,
    }


class TemplateList(ClusterView):
    """The templates that the caller may read."""

    operations = {
        "GET": reading(
            id="listTemplates",
            summary="List the templates of your namespaces, and of others where the"
            " cluster lets you list them",
            query=PageParameters,
            answer=shapes.Template,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of templates by namespace and name."""
        found = self.cluster()
        readable = readable_by(self.person, found)
        own, limit = frozenset(readable.own), self.wanted["limit"]
        key = decoded(self.wanted["cursor"], (str, str))
        rows = templates_for(readable, found)
        kept = list(rows_after(rows, ("namespace", "name"), key)[: limit + 1])
        page = page_of(kept, limit, lambda row: (row.namespace, row.name))
        return self.page(page, lambda row: template_document(row, own))


class TemplateDetail(ClusterView):
    """One template."""

    operations = {
        "GET": reading(
            id="getTemplate",
            summary="Return a template to begin from, and how many pods use it",
            answer=shapes.TemplateDetail,
        )
    }

    def get(
        self, request: Request, cluster: str, namespace: str, name: str
    ) -> Response:
        """Return the template; the names of pods are for its own people."""
        found = self.cluster()
        row = template_for(self.person, found, namespace, name)
        if row is None:
            raise Http404(_("There is no template of that name that you may read."))
        users = users_of_template(found, namespace, name)
        own = frozenset(namespaces_of(self.person, found.name))
        is_named = namespace in own or self.person.may(Permission.SEE_HOLDERS)
        body = {"apiVersion": API_VERSION, "kind": TEMPLATE, **row.body}
        return self.answer(
            {
                **template_document(row, own),
                "manifest": cleaned(body),
                "pods": list(users) if is_named else None,
                "podCount": len(users),
            }
        )


class KeyList(ClusterView):
    """What devices publish, as the builder of conditions offers it."""

    operations = {
        "GET": reading(
            id="listSelectorKeys",
            summary="List the attributes and capacities that devices publish, as CEL"
            " names them, with values that were seen",
            description="All values of one attribute: `/attributes?key=…`.",
            query=PageParameters,
            answer=shapes.SelectorKey,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of keys by driver."""
        items = [_key_document(each) for each in seen_keys(self.cluster())]
        page = list_page(
            items,
            lambda item: (item["driver"], item["expression"]),
            (str, str),
            **self.wanted,
        )
        return self.page(page, dict)


def _key_document(each: SeenKey) -> Json:
    return {
        "driver": each.driver,
        "space": each.space,
        "domain": each.domain,
        "name": each.name,
        "expression": each.expression,
        "kind": each.kind or None,
        "values": list(each.values),
        "devices": each.count,
    }


class ConditionView(ClusterView):
    """A condition put together."""

    operations = {
        "POST": judging(
            id="buildCondition",
            summary="Put a CEL condition together, guarded where devices lack the key",
            body=shapes.ConditionBody,
            answer=shapes.Condition,
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the condition."""
        body = self.body()
        try:
            text = condition_for(
                self.cluster(),
                body["expression"],
                body["operator"],
                body["value"],
                body["deviceClass"],
            )
        except BadValue as error:
            said = _("This kind of key cannot be compared so, or with this value.")
            raise refused_at("value", "condition.value", said) from error
        if text is None:
            said = _("No device here publishes that: take an expression of the list.")
            raise refused_at("expression", "condition.key", said)
        return self.answer({"expression": text})


class AvailabilityView(ClusterView):
    """What is free now."""

    operations = {
        "GET": judging(
            id="getAvailability",
            summary="Say what is free now: of each class, of quotas, of each preset",
            description="Presets are asked of the scheduler’s allocator, one by one:"
            " only with `presets=true`.",
            query=shapes.AvailabilityParameters,
            answer=shapes.Availability,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return classes, quotas and presets."""
        found = self.cluster()
        presets = None
        if self.wanted["presets"]:
            hide = hidden_from(self.person, found)
            presets = [
                {
                    "preset": row.name,
                    **room_document(room_for(found, row.active, hide=hide)),
                }
                for row in offered_to(self.person)
                if row.active is not None
            ]
        quotas = quotas_of(self.person, found, self.wanted["namespace"])
        return self.answer(
            {
                **age_of(found),
                "classes": [_free(each) for each in free_now(found)],
                "quotas": [
                    {"quota": q.quota, "key": q.key, "limit": q.limit, "left": q.left}
                    for q in quotas
                ],
                "presets": presets,
            }
        )


def _free(use: ClassUse) -> Json:
    return {
        "name": use.row.facts.name,
        "matching": use.match,
        "free": use.free,
        "matchingAtLeast": use.at_least,
        "problem": use.problem or None,
    }


class DomainPreviewView(ClusterView):
    """Whether a ComputeDomain would find its nodes."""

    operations = {
        "POST": judging(
            id="previewComputeDomain",
            summary="Say whether a ComputeDomain would find its nodes now",
            description="Nodes of one NVLink clique with free channels; where nobody"
            " tells a clique it is null, and may decide that the verdict is `unknown`.",
            body=shapes.DomainBody,
            answer=shapes.DomainJudged,
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return what is found, and the room."""
        found = self.cluster()
        try:
            manifest = sound(self.body()["manifest"])
        except SubmitRefused as error:
            raise refused(error) from error
        if manifest["kind"] != DOMAIN:
            text = _("Send a ComputeDomain: claims have a preview of their own.")
            raise refused_at("manifest/kind", "domain.kind", text)
        refuse_foreign(self.person, found, {manifest["metadata"]["namespace"]})
        diagnosed = diagnose(found, self.person, manifest)
        preview = diagnosed.preview
        room = preview.room if isinstance(preview, DomainPreview) else None
        return self.answer(
            {
                **age_of(found),
                "diagnostics": [each.document() for each in diagnosed.findings],
                "room": room.document() if room else None,
            }
        )
