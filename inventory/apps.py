"""What the clusters have and who holds it."""

from __future__ import annotations

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """The inventory app."""

    name = "inventory"
