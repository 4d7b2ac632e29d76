"""The ASGI entry point; the one that is deployed."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_asgi_application()

# What this process counts is added to the sums; see portal.core.counting.
from portal.core import counting  # noqa: E402  once Django is set up

counting.start()
