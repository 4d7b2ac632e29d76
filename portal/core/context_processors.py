"""What every page needs besides its own context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest


def page(request: HttpRequest) -> dict[str, Any]:
    """Return the language switch's target and whether the demo's controls are on."""
    return {"demo": settings.SLICEWISE_DEMO, "here": request.get_full_path()}
