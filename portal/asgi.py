"""The ASGI entry point; the one that is deployed."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_asgi_application()

# What this process counts is added to the sums; see portal.core.counting.
from portal.core import counting  # noqa: E402  once Django is set up
from portal.core.garbage import spare_what_is_imported  # noqa: E402

counting.start()

# What is imported stays; without this, collecting a request's garbage looks at it all.
_ = get_resolver().url_patterns
spare_what_is_imported()
