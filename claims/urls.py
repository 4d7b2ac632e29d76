"""Addresses of composing, requests and claims."""

from __future__ import annotations

from django.urls import path

from claims.views import (
    builder,
    cel,
    checks,
    claim,
    claims,
    compose,
    domains,
    drafts,
    importing,
    moves,
    preset_admin,
    presets,
    preview,
    requests,
    selectors,
    snippets,
    templates,
    waiting,
    whatif,
)

app_name = "claims"
urlpatterns = [
    path("c/<str:cluster>/compose/", compose.compose, name="compose"),
    path("c/<str:cluster>/compose/keep/", drafts.compose_keep, name="compose-keep"),
    path("drafts/", drafts.draft_list, name="draft-list"),
    path(
        "drafts/<uuid:public_id>/discard/",
        drafts.draft_discard,
        name="draft-discard",
    ),
    path("c/<str:cluster>/templates/", templates.template_list, name="template-list"),
    path(
        "c/<str:cluster>/templates/<str:namespace>/<str:name>/",
        templates.template_detail,
        name="template-detail",
    ),
    path("c/<str:cluster>/compose/domain/", domains.compose, name="compose-domain"),
    path(
        "c/<str:cluster>/compose/availability/",
        builder.compose_availability,
        name="compose-availability",
    ),
    path(
        "c/<str:cluster>/compose/builder/",
        builder.compose_builder,
        name="compose-builder",
    ),
    path("c/<str:cluster>/compose/given/", builder.compose_given, name="compose-given"),
    path("c/<str:cluster>/compose/cel/", cel.compose_cel, name="compose-cel"),
    path(
        "c/<str:cluster>/compose/checks/", checks.compose_checks, name="compose-checks"
    ),
    path(
        "c/<str:cluster>/compose/workloads/",
        snippets.compose_snippets,
        name="compose-snippets",
    ),
    path(
        "c/<str:cluster>/compose/manifest/",
        compose.compose_manifest,
        name="compose-manifest",
    ),
    path(
        "c/<str:cluster>/compose/preview/",
        preview.compose_preview,
        name="compose-preview",
    ),
    path("c/<str:cluster>/presets/", presets.preset_list, name="preset-list"),
    path(
        "c/<str:cluster>/presets/<slug:preset>/",
        presets.preset_compose,
        name="preset-compose",
    ),
    path(
        "c/<str:cluster>/presets/<slug:preset>/room/",
        presets.preset_room,
        name="preset-room",
    ),
    path("presets/", preset_admin.catalogue, name="preset-catalogue"),
    path("presets/new/", preset_admin.preset_new, name="preset-new"),
    path("presets/<slug:preset>/edit/", preset_admin.preset_edit, name="preset-edit"),
    path("c/<str:cluster>/import/", importing.import_manifests, name="import"),
    path("requests/", requests.request_list, name="request-list"),
    path("requests/<uuid:public_id>/", requests.request_detail, name="request-detail"),
    path(
        "requests/<uuid:public_id>/release/",
        requests.request_release,
        name="request-release",
    ),
    path(
        "requests/<uuid:public_id>/cancel/",
        requests.request_cancel,
        name="request-cancel",
    ),
    path(
        "requests/<uuid:public_id>/retry/",
        requests.request_retry,
        name="request-retry",
    ),
    path(
        "requests/<uuid:public_id>/workload/",
        snippets.request_snippet,
        name="request-snippet",
    ),
    path("requests/<uuid:public_id>/pod/", requests.request_pod, name="request-pod"),
    path("c/<str:cluster>/whatif/", whatif.whatif, name="whatif"),
    path("c/<str:cluster>/moves/", moves.moves, name="moves"),
    path("c/<str:cluster>/selectors/", selectors.selector_list, name="selector-list"),
    path("c/<str:cluster>/claims/", claims.claim_list, name="claim-list"),
    path(
        "c/<str:cluster>/claims/<str:namespace>/<str:name>/",
        claim.claim_detail,
        name="claim-detail",
    ),
    path(
        "c/<str:cluster>/claims/<str:namespace>/<str:name>/waiting/",
        waiting.claim_waiting,
        name="claim-waiting",
    ),
    path(
        "requests/<uuid:public_id>/queue/", waiting.request_queue, name="request-queue"
    ),
]
