"""A ComputeDomain composed, looked at and submitted, on one page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from claims.domain.compute_domains import (
    MODE,
    NAME,
    NODES,
    TEMPLATE,
    DomainDraft,
    domain_draft,
    to_manifest,
)
from claims.domain.manifest import ordered
from claims.domain.reading import hours_of
from claims.form_parts import Field
from claims.forms import content_key, submission_key
from claims.services.diagnosing import diagnose
from claims.services.domain_room import DomainPreview
from claims.services.submit import SubmitRefused, sent_before, submit
from claims.services.yaml_text import dump
from claims.views.checks import ruling_of
from inventory.gateways.errors import Invalid
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError
from portal.core.http import fragment

if TYPE_CHECKING:
    import uuid
    from collections.abc import Iterable

    from claims.models import ClaimRequest
    from claims.services.diagnosing import Diagnosed
    from portal.core.http import PortalRequest

Errors = dict[str, tuple[str, ...]]

# Path in the manifest → field of the form.
FIELDS = {
    NAME: "name",
    "metadata.namespace": "namespace",
    NODES: "nodes",
    MODE: "mode",
    TEMPLATE: "template",
    "justification": "justification",
    "hours": "hours",
}
PAGE = "claims/domain_compose.html"


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was found about the form; `failure` says why nothing was."""

    diagnosed: Diagnosed | None = None
    failure: str = ""


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
@vary_on_headers("HX-Request")
def compose(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the form with what is found about it, or submit it."""
    row = get_object_or_404(Cluster, name=cluster)
    own = namespaces_of(request.user, row.name)
    if request.method == "GET":
        draft = DomainDraft(namespace=next(iter(own), ""))
        return _shown(request, row, draft, _Looked(), {})
    draft = domain_draft(dict(request.POST.lists()))
    errors = _unfinished(draft, own)
    sends = request.POST.get("action") == "submit"
    # Before any check: what it became may stand in its own way.
    known = sent_before(request.user, _key(request, draft)) if sends else None
    if known and not errors:
        return _led_to(known)
    looked = _Looked() if errors else _looked(request, row, draft)
    if not sends:
        pressed = "action" in request.POST
        return _shown(request, row, draft, looked, errors if pressed else {})
    if not errors and looked.diagnosed:
        errors = _by_field(
            (each.path, each.message) for each in looked.diagnosed.errors
        )
    if errors:
        return _shown(request, row, draft, looked, errors, status=422)
    return _submitted(request, row, draft, looked)


def _unfinished(draft: DomainDraft, own: Iterable[str]) -> Errors:
    """Return what has to be filled in before anything can be said."""
    errors: Errors = {}
    if not draft.name:
        errors["name"] = (_("Give it a name, for example “train-imex”."),)
    if draft.namespace not in own:
        errors["namespace"] = (
            _("Choose the namespace that the pods will run in: one of yours."),
        )
    if draft.hours and hours_of(draft.hours) is None:
        errors["hours"] = (_("Give whole hours, from 1 to 2160."),)
    return errors


def _looked(request: PortalRequest, cluster: Cluster, draft: DomainDraft) -> _Looked:
    try:
        return _Looked(diagnose(cluster, request.user, to_manifest(draft)))
    except PortalError as error:
        return _Looked(failure=error.message)


def _by_field(found: Iterable[tuple[str, str]]) -> Errors:
    errors: Errors = {}
    for path, text in found:
        name = FIELDS.get(path, "")
        if text not in errors.get(name, ()):
            errors[name] = (*errors.get(name, ()), text)
    return errors


def _submitted(
    request: PortalRequest, cluster: Cluster, draft: DomainDraft, looked: _Looked
) -> HttpResponse:
    manifest, now = to_manifest(draft), timezone.now()
    hours = hours_of(draft.hours)
    try:
        made = submit(
            user=request.user,
            cluster=cluster,
            manifest=manifest,
            preview=looked.diagnosed.document() if looked.diagnosed else None,
            submission_key=_key(request, draft),
            request_id=request.request_id,
            now=now,
            justification=draft.justification,
            ends_at=now + timedelta(hours=hours) if hours else None,
        )
    except PortalError as error:
        errors = _refusal(error)
        status = 422 if error.permanent else 503
        return _shown(request, cluster, draft, looked, errors, status=status)
    return _led_to(made)


def _key(request: PortalRequest, draft: DomainDraft) -> uuid.UUID:
    content = f"{dump(to_manifest(draft))}\0{draft.justification}\0{draft.hours}"
    return content_key(request.POST.get("submission_key", ""), content)


def _led_to(made: ClaimRequest) -> HttpResponse:
    return HttpResponseRedirect(reverse("claims:request-detail", args=[made.public_id]))


def _refusal(error: PortalError) -> Errors:
    if isinstance(error, Invalid) and error.causes:
        return _by_field((each.field, each.message) for each in error.causes)
    if isinstance(error, SubmitRefused) and error.paths:
        return _by_field((path, error.message) for path in error.paths)
    return {"": (error.message,)}


def _shown(
    request: PortalRequest,
    cluster: Cluster,
    draft: DomainDraft,
    looked: _Looked,
    errors: Errors,
    *,
    status: int = 200,
) -> HttpResponse:
    fields = {
        name: Field(name, getattr(draft, name), errors.get(name, ()))
        for name in DomainDraft.__dataclass_fields__
    }
    context: dict[str, Any] = {
        "nav": "compose",
        "cluster": cluster,
        "draft": draft,
        "fields": fields,
        "shown_problems": [
            (f"f-{name}" if name else "", text)
            for name, texts in errors.items()
            for text in texts
        ],
        "namespaces": namespaces_of(request.user, cluster.name),
        "submission_key": submission_key(request.POST.get("submission_key", "")),
        "is_justified": bool(
            draft.justification or draft.hours or {"justification", "hours"} & {*errors}
        ),
        **_found(request, cluster, draft, looked),
    }
    return render(request, fragment(PAGE, "found", request), context, status=status)


def _found(
    request: PortalRequest, cluster: Cluster, draft: DomainDraft, looked: _Looked
) -> dict[str, Any]:
    """Return what stands beside the form: room, checks and manifest."""
    if looked.failure:
        return {"checks": {"failure": looked.failure}, "failure": looked.failure}
    if looked.diagnosed is None:
        return {"checks": {"is_unfinished": True}}
    manifest, preview = to_manifest(draft), looked.diagnosed.preview
    findings = [
        replace(each, field=FIELDS.get(each.path, ""))
        for each in looked.diagnosed.findings
    ]
    return {
        "checks": {
            "findings": findings,
            "ruling": ruling_of(request.user, cluster, manifest, draft.hours),
        },
        "room": preview.room if isinstance(preview, DomainPreview) else None,
        "manifest": dump(ordered(manifest)),
    }
