"""What people and programs are told, and how it reaches them."""

from __future__ import annotations

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The notices app: the bell, subscriptions, deliveries and the event log."""

    name = "portal.notices"
    label = "notices"
