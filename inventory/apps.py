"""What the clusters have and who holds it."""

from __future__ import annotations

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """The inventory app."""

    name = "inventory"

    def ready(self) -> None:
        """Make known what is said of clusters."""
        from inventory.gateways.sentences import SENTENCES
        from portal.core.sentences import add_sentences

        add_sentences(SENTENCES)
