"""Addresses of the pages on adoption, all of one cluster."""

from __future__ import annotations

from django.urls import path

from portal.adoption.views import readiness

app_name = "adoption"
urlpatterns = [
    path("c/<str:cluster>/adoption/", readiness.readiness_page, name="readiness"),
]
