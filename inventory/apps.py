"""What the clusters have and who holds it."""

from __future__ import annotations

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """The inventory app."""

    name = "inventory"

    def ready(self) -> None:
        """Make known what is said of clusters, and which there are."""
        from inventory.gateways.sentences import SENTENCES
        from portal.accounts.clusters import read_with
        from portal.core.sentences import add_sentences

        add_sentences(SENTENCES)
        read_with(_names)


def _names() -> set[str]:
    """Return the names of all clusters; one query."""
    from inventory.models import Cluster

    return set(Cluster.objects.values_list("name", flat=True))
