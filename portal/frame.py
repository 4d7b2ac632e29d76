"""What surrounds every page: the navigation, the cluster switch and the badge.

It composes what the apps offer, as `portal.urls` does, so it may know them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_GET

from inventory.models import Cluster
from portal.accounts.domain.roles import Permission
from portal.notices.queries.log import unread_count

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.http import HttpRequest, HttpResponse

    from portal.accounts.models import User

# Section → (name, URL name, whether it belongs to a cluster, title).
SECTIONS = (
    (
        _("Fleet"),
        (
            ("overview", "inventory:overview", True, _("Overview")),
            ("gpus", "inventory:gpu-list", True, _("GPUs")),
            ("devices", "inventory:device-list", True, _("Devices")),
            ("pools", "inventory:pool-list", True, _("Pools")),
            ("classes", "inventory:class-list", True, _("Classes")),
            ("history", "inventory:history", True, _("History")),
            ("clusters", "inventory:cluster-list", False, _("Clusters")),
        ),
    ),
    (
        _("Claims"),
        (
            ("presets", "claims:preset-list", True, _("Presets")),
            ("compose", "claims:compose", True, pgettext_lazy("navigation", "Compose")),
            ("convert", "adoption:convert", True, _("Convert workloads")),
            ("requests", "claims:request-list", False, _("My requests")),
            ("claims", "claims:claim-list", True, _("All claims")),
        ),
    ),
    (
        _("Govern"),
        (
            ("approvals", "approvals:approval-list", False, _("Approvals")),
            ("exposure", "approvals:exposure", True, _("Exposure")),
            ("lifetime", "approvals:lifetime", True, _("Idle and drifted")),
            ("policy", "approvals:policy-detail", False, _("Policy")),
            ("admission", "admission:overview", False, _("Admission")),
            ("budgets", "budgets:budget-list", False, _("Quotas and budgets")),
            ("audit", "audit:audit-list", False, _("Audit")),
            ("people", "accounts:person-list", False, _("People")),
            ("tenants", "accounts:tenant-list", False, _("Teams")),
            ("groups", "accounts:group-list", False, _("Groups")),
            ("adoption", "adoption:readiness", True, _("Adoption")),
        ),
    ),
)
# What only some people are shown the way to.
DEMANDS = {
    "adoption": Permission.SEE_HOLDERS,
    "admission": Permission.MANAGE_ADMISSION,
    "audit": Permission.SEE_AUDIT,
    "groups": Permission.MANAGE_PEOPLE,
    "people": Permission.MANAGE_PEOPLE,
    "exposure": Permission.SEE_EXPOSURE,
}
COLUMNS = (
    "name",
    "kind",
    "kubernetes_version",
    "revision",
    "heard_at",
    "failed_at",
    "failure",
    "kinds",
)


@dataclass(frozen=True)
class Link:
    """One entry of the navigation or of the cluster switch."""

    name: str
    title: str
    href: str


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return `clusters`, `page_cluster`, `unread` and `navigation`, made when used.

    Makes two queries (all clusters, without their secrets, and the unread notices),
    and none for a fragment that uses none of the four.
    """
    rows = cache(lambda: list(Cluster.objects.only(*COLUMNS).order_by("name")))
    chosen = cache(lambda: _chosen(request, rows()))
    return {
        "clusters": SimpleLazyObject(lambda: [_switch(request, row) for row in rows()]),
        "page_cluster": SimpleLazyObject(chosen),
        "unread": SimpleLazyObject(lambda: _unread(request.user)),
        "navigation": SimpleLazyObject(lambda: _navigation(chosen(), request.user)),
    }


def _unread(user: User | AnonymousUser) -> int:
    """Return how many notices wait for a person at the bell."""
    return unread_count(user) if user.is_authenticated else 0


def _chosen(request: HttpRequest, rows: list[Cluster]) -> Cluster | None:
    """Return the address's cluster, else the one seen last, else the first."""
    match = request.resolver_match
    named = match.kwargs.get("cluster") if match else None
    by_name = {row.name: row for row in rows}
    if named in by_name and request.session.get("cluster") != named:
        request.session["cluster"] = named
    wanted = named or request.session.get("cluster", "")
    return by_name.get(wanted) or (rows[0] if rows else None)


def _switch(request: HttpRequest, row: Cluster) -> dict[str, str]:
    """Return where the switch leads: this page of that cluster, or its overview."""
    match = request.resolver_match
    whole = match is not None and set(match.kwargs) == {"cluster"}
    view = match.view_name if match and whole else "inventory:overview"
    href = reverse(view, args=[row.name])
    return {"name": row.name, "version": row.kubernetes_version, "href": href}


def _navigation(
    cluster: Cluster | None, user: User | AnonymousUser
) -> list[dict[str, Any]]:
    """Return the sections with the links that lead somewhere for this person."""
    sections = []
    for title, entries in SECTIONS:
        links = [
            Link(
                name,
                str(label),
                reverse(view, args=[cluster.name] if of_cluster and cluster else []),
            )
            for name, view, of_cluster, label in entries
            if (cluster or not of_cluster) and _may(user, name)
        ]
        sections.append({"title": title, "links": links})
    return sections


def _may(user: User | AnonymousUser, name: str) -> bool:
    demanded = DEMANDS.get(name)
    return demanded is None or (user.is_authenticated and user.may(demanded))


@require_GET
def freshness(request: HttpRequest, cluster: str) -> HttpResponse:
    """Answer with the badge, and what of the cluster is not seen."""
    row = get_object_or_404(Cluster.objects.only(*COLUMNS), name=cluster)
    return render(request, "components/frame_news.html", {"cluster": row})


async def revision_of(cluster: str) -> int | None:
    """Return a cluster's present revision, or None where there is no such cluster."""
    return (
        await Cluster.objects.filter(name=cluster)
        .values_list("revision", flat=True)
        .afirst()
    )
