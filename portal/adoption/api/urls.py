"""Addresses of adoption below /api/v1/."""

from __future__ import annotations

from django.urls import URLPattern, path

from portal.adoption.api import views

C = "clusters/<str:cluster>/adoption"
urlpatterns: list[URLPattern] = [
    path(f"{C}/readiness", views.ReadinessView.as_view(), name="readiness"),
]
