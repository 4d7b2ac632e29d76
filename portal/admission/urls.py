"""Addresses of the page on admission."""

from __future__ import annotations

from django.urls import path

from portal.admission.views import page

app_name = "admission"
urlpatterns = [
    path("admission/", page.overview, name="overview"),
    path("admission/advisor", page.advisor, name="advisor"),
    path("admission/calibrate", page.calibrate, name="calibrate"),
    path("admission/rules/<str:name>/mode", page.rule_mode, name="rule"),
]
