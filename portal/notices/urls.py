"""Addresses of notices and subscriptions."""

from __future__ import annotations

from django.urls import path

from portal.notices.views import notices, subscriptions

app_name = "notices"
S = "subscriptions/<uuid:public_id>"
urlpatterns = [
    path("notices/", notices.notice_list, name="notice-list"),
    path("notices/bell", notices.bell, name="bell"),
    path("notices/read", notices.notice_read, name="notice-read"),
    path("notices/<uuid:public_id>", notices.notice_open, name="notice-open"),
    path("subscriptions/", subscriptions.subscription_list, name="subscription-list"),
    path(f"{S}/", subscriptions.subscription_detail, name="subscription-detail"),
    path(f"{S}/rotate", subscriptions.subscription_rotate, name="subscription-rotate"),
    path(f"{S}/test", subscriptions.subscription_test, name="subscription-test"),
    path(f"{S}/on", subscriptions.subscription_on, name="subscription-on"),
    path(f"{S}/remove", subscriptions.subscription_remove, name="subscription-remove"),
    path(
        "deliveries/<uuid:public_id>/again",
        subscriptions.delivery_again,
        name="delivery-again",
    ),
]
