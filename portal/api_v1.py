"""The addresses of the REST API, version 1; the composition of the apps' own."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from portal.api import document, own

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path("openapi.json", document.openapi, name="openapi"),
    path("docs", document.docs, name="docs"),
    path("me", own.MeView.as_view(), name="me"),
    path("tokens", own.TokenList.as_view(), name="token-list"),
    path("tokens/<uuid:id>", own.TokenDetail.as_view(), name="token-detail"),
    path("", include("inventory.api.urls")),
    path("", include("claims.api.urls")),
    re_path(r"^.*\Z", document.NoSuchAddress.as_view(), name="nothing"),
]
