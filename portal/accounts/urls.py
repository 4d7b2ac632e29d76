"""Addresses of signing in and of preferences."""

from __future__ import annotations

from django.urls import path

from portal.accounts import (
    account_views,
    oidc_views,
    people_views,
    service_views,
    tenant_views,
    token_views,
    views,
)

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/code/", account_views.sign_in_code, name="sign-in-code"),
    path(
        "set-password/<str:uidb64>/<str:token>/",
        account_views.set_password,
        name="set-password",
    ),
    path("account/", account_views.account, name="account"),
    path("account/password", account_views.password_change, name="password-change"),
    path("account/factor/", account_views.factor, name="factor"),
    path("account/factor/begin", account_views.factor_begin, name="factor-begin"),
    path("account/factor/qr.svg", account_views.factor_image, name="factor-image"),
    path("account/factor/off", account_views.factor_off, name="factor-off"),
    path(
        "account/factor/recovery",
        account_views.recovery_renew,
        name="recovery-renew",
    ),
    path("sign-in/provider/", oidc_views.begin, name="provider-begin"),
    path("sign-in/provider/back/", oidc_views.callback, name="provider-back"),
    path("groups/", oidc_views.group_list, name="group-list"),
    path("groups/<int:pk>/remove", oidc_views.group_remove, name="group-remove"),
    path("people/", people_views.person_list, name="person-list"),
    path("people/<int:pk>/", people_views.person_detail, name="person-detail"),
    path("people/<int:pk>/link", people_views.person_link, name="person-link"),
    path("people/<int:pk>/reset", people_views.person_reset, name="person-reset"),
    path("teams/", tenant_views.tenant_list, name="tenant-list"),
    path("new-team/", tenant_views.tenant_new, name="tenant-new"),
    path("teams/<slug:name>/", tenant_views.tenant_detail, name="tenant-detail"),
    path("teams/<slug:name>/edit/", tenant_views.tenant_edit, name="tenant-edit"),
    path(
        "teams/<slug:name>/remove",
        tenant_views.tenant_remove,
        name="tenant-remove",
    ),
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
