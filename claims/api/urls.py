"""Addresses of claims and claim requests below /api/v1/."""

from __future__ import annotations

from django.urls import path

from claims.api import (
    bulk,
    claims,
    composing,
    drafts,
    explaining,
    importing,
    moving,
    presets,
    queueing,
    request_moves,
    requests,
    validating,
    workloads,
)

C = "clusters/<str:cluster>"
urlpatterns = [
    path(f"{C}/claims", claims.ClaimList.as_view(), name="claim-list"),
    path(
        f"{C}/claims/<str:namespace>/<str:name>",
        claims.ClaimDetail.as_view(),
        name="claim-detail",
    ),
    path(
        f"{C}/claims/<str:namespace>/<str:name>/waiting",
        claims.ClaimWaiting.as_view(),
        name="claim-waiting",
    ),
    path(f"{C}/check", validating.CheckView.as_view(), name="check"),
    path(f"{C}/import", importing.ImportView.as_view(), name="import"),
    path(f"{C}/workloads", workloads.WorkloadView.as_view(), name="workloads"),
    path(f"{C}/preview", validating.PreviewView.as_view(), name="preview"),
    path(f"{C}/what-if", validating.WhatIfView.as_view(), name="what-if"),
    path(f"{C}/explain", explaining.ExplainView.as_view(), name="explain"),
    path(f"{C}/copies", moving.CopiesView.as_view(), name="copies"),
    path(f"{C}/moves", moving.MoveList.as_view(), name="move-list"),
    path(f"{C}/cel", validating.CelView.as_view(), name="cel"),
    path("drafts", drafts.DraftList.as_view(), name="draft-list"),
    path("drafts/<uuid:id>", drafts.DraftDetail.as_view(), name="draft"),
    path(f"{C}/templates", composing.TemplateList.as_view(), name="template-list"),
    path(
        f"{C}/templates/<str:namespace>/<str:name>",
        composing.TemplateDetail.as_view(),
        name="template",
    ),
    path(f"{C}/selector-keys", composing.KeyList.as_view(), name="selector-key-list"),
    path(
        f"{C}/repeated-selectors",
        queueing.RepeatedSelectorList.as_view(),
        name="repeated-selector-list",
    ),
    path(f"{C}/conditions", composing.ConditionView.as_view(), name="conditions"),
    path(
        f"{C}/availability",
        composing.AvailabilityView.as_view(),
        name="availability",
    ),
    path(
        f"{C}/compute-domains/preview",
        composing.DomainPreviewView.as_view(),
        name="domain-preview",
    ),
    path("presets", presets.PresetList.as_view(), name="preset-list"),
    path("presets/<slug:preset>", presets.PresetDetail.as_view(), name="preset"),
    path(
        "presets/<slug:preset>/offer",
        presets.PresetOffer.as_view(),
        name="preset-offer",
    ),
    path(
        f"{C}/presets/<slug:preset>/room",
        presets.PresetRoom.as_view(),
        name="preset-room",
    ),
    path(
        f"{C}/presets/<slug:preset>/render",
        presets.PresetRender.as_view(),
        name="preset-render",
    ),
    path("claim-requests", requests.RequestList.as_view(), name="request-list"),
    path("claim-requests/bulk", bulk.RequestBulk.as_view(), name="request-bulk"),
    path(
        "claim-requests/bulk-release",
        bulk.RequestBulkRelease.as_view(),
        name="request-bulk-release",
    ),
    path(
        "claim-requests/<uuid:id>",
        requests.RequestDetail.as_view(),
        name="request-detail",
    ),
    path(
        "claim-requests/<uuid:id>/workloads",
        workloads.RequestWorkloads.as_view(),
        name="request-workloads",
    ),
    path(
        "claim-requests/<uuid:id>/usage",
        requests.RequestUsage.as_view(),
        name="request-usage",
    ),
    path(
        "claim-requests/<uuid:id>/queue",
        queueing.RequestQueue.as_view(),
        name="request-queue",
    ),
    path(
        "claim-requests/<uuid:id>/release",
        request_moves.RequestRelease.as_view(),
        name="request-release",
    ),
    path(
        "claim-requests/<uuid:id>/cancel",
        request_moves.RequestCancel.as_view(),
        name="request-cancel",
    ),
    path(
        "claim-requests/<uuid:id>/retry",
        request_moves.RequestRetry.as_view(),
        name="request-retry",
    ),
    path(
        "operations/<str:operation>",
        requests.OperationDetail.as_view(),
        name="operation",
    ),
]
