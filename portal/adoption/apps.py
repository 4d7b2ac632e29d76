"""From device plugin to DRA: what a cluster lacks, and the way there."""

from __future__ import annotations

from django.apps import AppConfig


class AdoptionConfig(AppConfig):
    """The adoption app; it knows everything below it."""

    name = "portal.adoption"
    label = "adoption"
