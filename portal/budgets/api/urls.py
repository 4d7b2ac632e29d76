"""Addresses of budgets and quotas below /api/v1/."""

from __future__ import annotations

from django.urls import path

from portal.budgets.api import views

C = "clusters/<str:cluster>"
urlpatterns = [
    path("budgets", views.BudgetList.as_view(), name="budget-list"),
    path("budgets/<uuid:id>", views.BudgetDetail.as_view(), name="budget-detail"),
    path(f"{C}/quotas", views.QuotaView.as_view(), name="quota-list"),
    path(f"{C}/quota-preview", views.QuotaPreviewView.as_view(), name="quota-preview"),
]
