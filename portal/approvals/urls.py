"""Addresses of approvals, the policy and the exposure page."""

from __future__ import annotations

from django.urls import path

from portal.approvals.views import approvals, exposure, policy

app_name = "approvals"
urlpatterns = [
    path("approvals/", approvals.approval_list, name="approval-list"),
    path(
        "approvals/<uuid:public_id>/", approvals.approval_detail, name="approval-detail"
    ),
    path(
        "approvals/<uuid:public_id>/decide/",
        approvals.approval_decide,
        name="approval-decide",
    ),
    path(
        "approvals/<uuid:public_id>/revoke/",
        approvals.approval_revoke,
        name="approval-revoke",
    ),
    path("policy/", policy.policy_detail, name="policy-detail"),
    path("c/<str:cluster>/exposure/", exposure.exposure, name="exposure"),
]
