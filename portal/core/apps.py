"""The leaf app: what every other app shares."""

from __future__ import annotations

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """Set up logging once Django is ready."""

    name = "portal.core"
    label = "core"

    def ready(self) -> None:
        """Configure structured logs."""
        from portal.core import logs

        logs.configure()
