"""Addresses of the pages on adoption, all of one cluster."""

from __future__ import annotations

from django.urls import path

from portal.adoption.views import convert, mapping, needs, plan, readiness, savings

app_name = "adoption"
urlpatterns = [
    path("c/<str:cluster>/adoption/", readiness.readiness_page, name="readiness"),
    path("c/<str:cluster>/adoption/convert/", convert.convert_page, name="convert"),
    path("c/<str:cluster>/adoption/mapping/", mapping.mapping_page, name="mapping"),
    path("c/<str:cluster>/adoption/plan/", plan.plan_page, name="plan"),
    path("c/<str:cluster>/adoption/plan/move/", plan.plan_move, name="plan-move"),
    path("c/<str:cluster>/adoption/plan/record/", plan.plan_record, name="plan-record"),
    path(
        "c/<str:cluster>/adoption/plan/manifests/<str:name>",
        plan.plan_manifest,
        name="plan-manifest",
    ),
    path("c/<str:cluster>/adoption/needs/", needs.needs_page, name="needs"),
    path("c/<str:cluster>/adoption/needs/ask/", needs.needs_ask, name="needs-ask"),
    path("c/<str:cluster>/adoption/savings/", savings.savings_page, name="savings"),
    path(
        "c/<str:cluster>/adoption/savings.csv", savings.savings_csv, name="savings-csv"
    ),
]
