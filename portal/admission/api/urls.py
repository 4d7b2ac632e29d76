"""Addresses of admission below /api/v1/."""

from __future__ import annotations

from django.urls import path

from portal.admission.api import fallbacks, views

A = "admission"
urlpatterns = [
    path(f"{A}/rules", views.RuleList.as_view(), name="admission-rule-list"),
    path(f"{A}/rules/<str:name>", views.RuleDetail.as_view(), name="admission-rule"),
    path(
        f"{A}/fallbacks",
        fallbacks.FallbackList.as_view(),
        name="admission-fallback-list",
    ),
    path(
        f"{A}/fallbacks/<str:name>",
        fallbacks.FallbackDetail.as_view(),
        name="admission-fallback",
    ),
    path(
        f"{A}/decisions", views.DecisionList.as_view(), name="admission-decision-list"
    ),
    path(f"{A}/advisor", views.AdvisorView.as_view(), name="admission-advisor"),
    path(
        f"{A}/advisor/tried",
        views.TriedThresholds.as_view(),
        name="admission-tried",
    ),
    path(
        f"{A}/calibrations",
        views.CalibrationList.as_view(),
        name="admission-calibration-list",
    ),
    path(
        f"{A}/calibrations/<uuid:id>",
        views.CalibrationDetail.as_view(),
        name="admission-calibration",
    ),
]
