"""People, tenants and what each may do."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The accounts app."""

    name = "portal.accounts"
    label = "accounts"
