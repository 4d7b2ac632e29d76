"""Where every address leads; the composition of the apps."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from portal import frame
from portal.core import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path(
        "c/<str:cluster>/events",
        views.events,
        {"newest": frame.revision_of},
        name="events",
    ),
    path("c/<str:cluster>/freshness", frame.freshness, name="freshness"),
    path("", include("portal.accounts.urls")),
    path("", include("inventory.urls")),
    path("", include("claims.urls")),
]
handler403 = "portal.core.views.permission_denied"
handler404 = "portal.core.views.page_not_found"
