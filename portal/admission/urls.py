"""Addresses of the page on admission."""

from __future__ import annotations

from django.urls import path

from portal.admission.views import fallbacks, page

app_name = "admission"
urlpatterns = [
    path("admission/", page.overview, name="overview"),
    path("admission/advisor", page.advisor, name="advisor"),
    path("admission/calibrate", page.calibrate, name="calibrate"),
    path("admission/rules/<str:name>/mode", page.rule_mode, name="rule"),
    path("admission/fallbacks/new", fallbacks.fallback_new, name="fallback-new"),
    path(
        "admission/fallbacks/<str:name>/edit",
        fallbacks.fallback_detail,
        name="fallback",
    ),
    path(
        "admission/fallbacks/<str:name>/switch",
        fallbacks.fallback_switch,
        name="fallback-switch",
    ),
]
