"""Who did what, when and why."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The audit app: context for the event rows that database triggers write."""

    name = "portal.audit"
    label = "audit"
