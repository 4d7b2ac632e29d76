"""What every page needs besides its own context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest

THEMES = ("light", "dark")


def page(request: HttpRequest) -> dict[str, Any]:
    """Return this page's address, the chosen theme and whether this is the demo.

    `theme` is "light", "dark" or "" for the system's own; `here` is what a form
    that changes only the presentation returns to.
    """
    theme = request.COOKIES.get("theme", "")
    return {
        "demo": settings.SLICEWISE_DEMO,
        "here": request.get_full_path() if request.method == "GET" else "/",
        "theme": theme if theme in THEMES else "",
    }
