"""Addresses that API servers call; beside the pages', and alone in a process of theirs."""

from __future__ import annotations

from django.urls import path, re_path

from portal.admission.views import webhook

app_name = "admission-hooks"
urlpatterns = [
    path("admission/validate", webhook.validate_review, name="validate"),
    path("admission/mutate", webhook.mutate_review, name="mutate"),
    re_path(
        r"^admission/validate/(?P<failure>fail|ignore)\Z",
        webhook.validate_review,
        name="validate-some",
    ),
    re_path(
        r"^admission/validate/(?P<cluster>[a-z0-9.-]+)/(?P<failure>fail|ignore)\Z",
        webhook.validate_review,
        name="validate-cluster-some",
    ),
    path(
        "admission/validate/<str:cluster>",
        webhook.validate_review,
        name="validate-cluster",
    ),
    path(
        "admission/mutate/<str:cluster>",
        webhook.mutate_review,
        name="mutate-cluster",
    ),
]
