"""Composing claims, previewing them, and their life in the cluster."""

from __future__ import annotations

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    """The claims app."""

    name = "claims"

    def ready(self) -> None:
        """Make known what workers write on requests."""
        from claims.services.message_sentences import SENTENCES
        from portal.core.sentences import add_sentences

        add_sentences(SENTENCES)
