"""Which static files of other packages are collected, and so served: those that are used."""

from __future__ import annotations

from django.contrib.staticfiles.apps import StaticFilesConfig


class ServedFilesConfig(StaticFilesConfig):
    """Collects no script that no page asks for.

    What is served is in the bill of materials, and somebody has to follow what becomes
    known of it: scripts/sbom.py.
    """

    ignore_patterns = [
        *StaticFilesConfig.ignore_patterns,
        # The pages of REST framework, with their Bootstrap and jQuery.
        "rest_framework",
        "redoc",
        # htmx's next version, and its extensions.
        "htmax-*",
        "*-4.js",
        "*-4.min.js",
        "hx-head-*",
        "hx-preload-*",
        "hx-ws-*",
    ]
