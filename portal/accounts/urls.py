"""Addresses of signing in and of preferences."""

from __future__ import annotations

from django.urls import path

from portal.accounts import oidc_views, service_views, token_views, views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/provider/", oidc_views.begin, name="provider-begin"),
    path("sign-in/provider/back/", oidc_views.callback, name="provider-back"),
    path("groups/", oidc_views.group_list, name="group-list"),
    path("groups/<int:pk>/remove", oidc_views.group_remove, name="group-remove"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("preferences/language", views.language, name="language"),
    path("preferences/theme", views.theme, name="theme"),
    path("tokens/", token_views.token_list, name="token-list"),
    path("service-accounts/", service_views.service_list, name="service-list"),
    path(
        "service-accounts/<int:pk>/",
        service_views.service_detail,
        name="service-detail",
    ),
    path(
        "service-accounts/<int:pk>/end",
        service_views.service_end,
        name="service-end",
    ),
    path(
        "service-accounts/<int:pk>/tokens/<uuid:public_id>/revoke",
        service_views.service_revoke,
        name="service-revoke",
    ),
    path(
        "tokens/<uuid:public_id>/revoke/",
        token_views.token_revoke,
        name="token-revoke",
    ),
]
