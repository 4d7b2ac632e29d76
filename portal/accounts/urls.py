"""Addresses of signing in and of preferences."""

from __future__ import annotations

from django.urls import path

from portal.accounts import token_views, views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("preferences/language", views.language, name="language"),
    path("preferences/theme", views.theme, name="theme"),
    path("tokens/", token_views.token_list, name="token-list"),
    path(
        "tokens/<uuid:public_id>/revoke/",
        token_views.token_revoke,
        name="token-revoke",
    ),
]
