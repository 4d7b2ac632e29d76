"""`manage.py openapi`: write the OpenAPI document to where it is committed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from portal.api.document import openapi_document


class Command(BaseCommand):
    """Write docs/openapi.json."""

    help = "Write docs/openapi.json as the API now is."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, and say nothing."""
        path = settings.BASE_DIR / "docs" / "openapi.json"
        path.write_bytes(openapi_document())
