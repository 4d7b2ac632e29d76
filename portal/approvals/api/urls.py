"""Addresses of approvals, the policy and the exposure report below /api/v1/."""

from __future__ import annotations

from django.urls import path

from portal.approvals.api import approvals, governing, lasting

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
    path(
        "approvals/<uuid:id>/revoke",
        approvals.ApprovalRevoke.as_view(),
        name="approval-revoke",
    ),
    path(
        "claim-requests/<uuid:id>/extensions",
        lasting.Extensions.as_view(),
        name="extension-list",
    ),
    path(
        "claim-requests/<uuid:id>/extensions/decision",
        lasting.ExtensionDecide.as_view(),
        name="extension-decide",
    ),
    path(
        "clusters/<str:cluster>/lifetime",
        lasting.LifetimeView.as_view(),
        name="lifetime",
    ),
    path("policy", governing.PolicyView.as_view(), name="policy"),
    path("policy/check", governing.PolicyCheck.as_view(), name="policy-check"),
    path(
        "clusters/<str:cluster>/exposure",
        governing.ExposureView.as_view(),
        name="exposure",
    ),
]
