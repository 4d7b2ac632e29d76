"""Addresses of composing, requests and claims."""

from __future__ import annotations

from django.urls import path

from claims.views import claims, requests

app_name = "claims"
urlpatterns = [
    path("requests/", requests.request_list, name="request-list"),
    path("requests/<uuid:public_id>/", requests.request_detail, name="request-detail"),
    path(
        "requests/<uuid:public_id>/release/",
        requests.request_release,
        name="request-release",
    ),
    path("requests/<uuid:public_id>/pod/", requests.request_pod, name="request-pod"),
    path("c/<str:cluster>/claims/", claims.claim_list, name="claim-list"),
]
