"""Addresses that API servers call; beside the pages', and alone in a process of theirs."""

from __future__ import annotations

from django.urls import path

from portal.admission.views import webhook

app_name = "admission-hooks"
urlpatterns = [
    path("admission/validate", webhook.validate_review, name="validate"),
    path("admission/mutate", webhook.mutate_review, name="mutate"),
    *(
        path(
            f"admission/validate/{failure}",
            webhook.validate_review,
            {"failure": failure},
            name=f"validate-{failure}",
        )
        for failure in ("fail", "ignore")
    ),
    *(
        path(
            f"admission/validate/<str:cluster>/{failure}",
            webhook.validate_review,
            {"failure": failure},
            name=f"validate-cluster-{failure}",
        )
        for failure in ("fail", "ignore")
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
