"""What every part of the REST API shares."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The API's machinery: sign-in, problems, limits, idempotency, its document."""

    name = "portal.api"
    label = "api"
