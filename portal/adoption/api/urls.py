"""Addresses of adoption below /api/v1/."""

from __future__ import annotations

from django.urls import URLPattern, path

from portal.adoption.api import converting, mapping, migration, needs, views

C = "clusters/<str:cluster>/adoption"
urlpatterns: list[URLPattern] = [
    path(f"{C}/readiness", views.ReadinessView.as_view(), name="readiness"),
    path(f"{C}/savings", needs.SavingsView.as_view(), name="savings"),
    path(f"{C}/needs", needs.NeedList.as_view(), name="need-list"),
    path(f"{C}/needs/questions", needs.QuestionView.as_view(), name="need-questions"),
    path(f"{C}/needs/answers", needs.AnswerView.as_view(), name="need-answers"),
    path(f"{C}/workloads", converting.WorkloadList.as_view(), name="convertible-list"),
    path(f"{C}/convert", converting.ConvertView.as_view(), name="convert"),
    path(
        f"{C}/mapping-proposals",
        mapping.ProposalList.as_view(),
        name="mapping-proposal-list",
    ),
    path(f"{C}/mapping-preview", mapping.PreviewView.as_view(), name="mapping-preview"),
    path(f"{C}/mappings", mapping.MappingList.as_view(), name="mapping-list"),
    path(f"{C}/plan", migration.PlanView.as_view(), name="migration-plan"),
    path(
        f"{C}/plan/phases/<str:phase>",
        migration.PhaseDetail.as_view(),
        name="migration-phase",
    ),
    path(f"{C}/plan/moves", migration.MoveView.as_view(), name="migration-move"),
    path(f"{C}/plan/steps", migration.StepList.as_view(), name="migration-step-list"),
]
