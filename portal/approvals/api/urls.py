"""Addresses of approvals, the policy and the exposure report below /api/v1/."""

from __future__ import annotations

from django.urls import path

from portal.approvals.api import approvals, governing

urlpatterns = [
    path("approvals", approvals.ApprovalList.as_view(), name="approval-list"),
    path(
        "approvals/<uuid:id>",
        approvals.ApprovalDetail.as_view(),
        name="approval-detail",
    ),
    path(
        "approvals/<uuid:id>/decision",
        approvals.ApprovalDecide.as_view(),
        name="approval-decide",
    ),
    path("policy", governing.PolicyView.as_view(), name="policy"),
    path("policy/check", governing.PolicyCheck.as_view(), name="policy-check"),
    path(
        "clusters/<str:cluster>/exposure",
        governing.ExposureView.as_view(),
        name="exposure",
    ),
]
