"""The addresses of the REST API, version 1; the composition of the apps' own."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from portal.api import (
    audit,
    document,
    events,
    notices,
    own,
    people,
    service_accounts,
    tenants,
)

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path("openapi.json", document.openapi, name="openapi"),
    path("docs", document.docs, name="docs"),
    path("me", own.MeView.as_view(), name="me"),
    path("tokens", own.TokenList.as_view(), name="token-list"),
    path("tokens/<uuid:id>", own.TokenDetail.as_view(), name="token-detail"),
    path("events", events.EventStream.as_view(), name="events"),
    path("notices", notices.NoticeList.as_view(), name="notice-list"),
    path("notices/read", notices.NoticeRead.as_view(), name="notice-read"),
    path("subscriptions", notices.SubscriptionList.as_view(), name="subscription-list"),
    path(
        "subscriptions/<uuid:id>",
        notices.SubscriptionDetail.as_view(),
        name="subscription-detail",
    ),
    path(
        "subscriptions/<uuid:id>/rotate",
        notices.SubscriptionRotate.as_view(),
        name="subscription-rotate",
    ),
    path(
        "subscriptions/<uuid:id>/test",
        notices.SubscriptionTest.as_view(),
        name="subscription-test",
    ),
    path(
        "subscriptions/<uuid:id>/on",
        notices.SubscriptionOn.as_view(),
        name="subscription-on",
    ),
    path(
        "subscriptions/<uuid:id>/deliveries",
        notices.DeliveryList.as_view(),
        name="delivery-list",
    ),
    path(
        "deliveries/<uuid:id>/redeliver",
        notices.DeliveryRedeliver.as_view(),
        name="delivery-redeliver",
    ),
    path("audit", audit.AuditList.as_view(), name="audit-list"),
    path("audit/verify", audit.AuditVerify.as_view(), name="audit-verify"),
    path("people", people.PersonList.as_view(), name="person-list"),
    path("people/<int:pk>", people.PersonDetail.as_view(), name="person-detail"),
    path(
        "people/<int:pk>/password-link",
        people.PersonLink.as_view(),
        name="person-link",
    ),
    path(
        "people/<int:pk>/reset-second-factor",
        people.PersonFactor.as_view(),
        name="person-reset",
    ),
    path("tenants", tenants.TenantList.as_view(), name="tenant-list"),
    path("tenants/<slug:name>", tenants.TenantDetail.as_view(), name="tenant-detail"),
    path(
        "service-accounts",
        service_accounts.ServiceAccountList.as_view(),
        name="service-account-list",
    ),
    path(
        "service-accounts/<int:pk>",
        service_accounts.ServiceAccountDetail.as_view(),
        name="service-account-detail",
    ),
    path(
        "service-accounts/<int:pk>/tokens",
        service_accounts.ServiceTokenList.as_view(),
        name="service-token-list",
    ),
    path(
        "service-accounts/<int:pk>/tokens/<uuid:token_id>",
        service_accounts.ServiceTokenDetail.as_view(),
        name="service-token-detail",
    ),
    path("group-mappings", people.MappingList.as_view(), name="group-mapping-list"),
    path(
        "group-mappings/<int:pk>",
        people.MappingDetail.as_view(),
        name="group-mapping-detail",
    ),
    path("", include("inventory.api.urls")),
    path("", include("claims.api.urls")),
    path("", include("portal.approvals.api.urls")),
    path("", include("portal.budgets.api.urls")),
    path("", include("portal.admission.api.urls")),
    path("", include("portal.adoption.api.urls")),
    re_path(r"^.*\Z", document.NoSuchAddress.as_view(), name="nothing"),
]
