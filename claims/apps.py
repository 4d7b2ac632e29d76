"""Composing claims, previewing them, and their life in the cluster."""

from __future__ import annotations

from django.apps import AppConfig


class ClaimsConfig(AppConfig):
    """The claims app."""

    name = "claims"
