"""Addresses of budgets and quotas."""

from __future__ import annotations

from django.urls import path

from portal.budgets.views import budgets

app_name = "budgets"
urlpatterns = [
    path("budgets/", budgets.budget_list, name="budget-list"),
    path("budgets/new/", budgets.budget_new, name="budget-new"),
    path("budgets/<uuid:public_id>/", budgets.budget_edit, name="budget-edit"),
    path("budgets/<uuid:public_id>/quota/", budgets.budget_quota, name="budget-quota"),
]
