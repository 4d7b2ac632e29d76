"""Addresses of approvals, the policy and the exposure page."""

from __future__ import annotations

from django.urls import path

from portal.approvals.views import approvals, exposure, extensions, lifetime, policy

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
    path("approvals/<uuid:public_id>/longer/", extensions.extension, name="extension"),
    path("c/<str:cluster>/lifetime/", lifetime.lifetime, name="lifetime"),
    path("policy/", policy.policy_detail, name="policy-detail"),
    path("policy/edit/", policy.policy_edit, name="policy-edit"),
    path("c/<str:cluster>/exposure/", exposure.exposure, name="exposure"),
]
