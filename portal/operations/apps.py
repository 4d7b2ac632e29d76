"""What operators do: look whether all is well, keep copies, change keys."""

from __future__ import annotations

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Has commands only."""

    name = "portal.operations"
    label = "operations"
