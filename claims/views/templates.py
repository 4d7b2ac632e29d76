"""The templates of a cluster that a person may read, and one of them, read only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from claims.domain.manifest import API_VERSION, TEMPLATE, class_names, ordered
from claims.queries.claims import narrowed
from claims.queries.requests import visible_to
from claims.services.origins import cleaned, users_of_template
from claims.services.readable import (
    keeper_of,
    readable_by,
    template_for,
    templates_for,
)
from claims.services.yaml_text import dump
from inventory.models import Cluster
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

    from inventory.models import KubeObject

PER_PAGE = 50


@require_GET
@vary_on_headers("HX-Request")
def template_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the templates that this person may read, their own and others'."""
    row = get_object_or_404(Cluster, name=cluster)
    readable = readable_by(request.user, row)
    text = request.GET.get("q", "").strip()[:253]
    rows = narrowed(templates_for(readable, row), text=text, namespace="")
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "claims",
        "cluster": row,
        "page": page,
        "rows": [_row(each, readable.own) for each in page.object_list],
        "readable": readable,
        "text": text,
    }
    template = fragment("claims/template_list.html", "rows", request)
    return render(request, template, context)


def _row(row: KubeObject, own: tuple[str, ...]) -> dict[str, Any]:
    return {
        "namespace": row.namespace,
        "name": row.name,
        "classes": class_names({"kind": TEMPLATE, **row.body}),
        "keeper": keeper_of(row.body),
        "is_own": row.namespace in own,
    }


@require_GET
def template_detail(
    request: PortalRequest, cluster: str, namespace: str, name: str
) -> HttpResponse:
    """Show a template as it is stored, who uses it, and the ways to begin from it."""
    found = get_object_or_404(Cluster, name=cluster)
    row = template_for(request.user, found, namespace, name)
    if row is None:
        raise Http404(_("There is no template of that name that you may read."))
    body = {"apiVersion": API_VERSION, "kind": TEMPLATE, **row.body}
    keeper, users = keeper_of(body), users_of_template(found, namespace, name)
    is_own = namespace in namespaces_of(request.user, found.name)
    made_by = visible_to(request.user).filter(plan__cluster=found, object_uid=row.uid)
    context = {
        "nav": "claims",
        "cluster": found,
        "row": row,
        "keeper": keeper,
        "is_own": is_own,
        "made_by": made_by.distinct().first(),
        "user_count": len(users),
        "users": users if is_own or request.user.may(Permission.SEE_HOLDERS) else None,
        "manifest_yaml": dump(ordered(cleaned(body))),
        "may_copy": keeper != "domain" and request.user.may(Permission.COMPOSE),
    }
    return render(request, "claims/template_detail.html", context)
