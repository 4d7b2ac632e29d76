"""The ASGI entry point; the one that is deployed."""

from __future__ import annotations

import gc
import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_asgi_application()

# What this process counts is added to the sums; see portal.core.counting.
from portal.core import counting  # noqa: E402  once Django is set up

counting.start()

# What is imported stays; without this, collecting a request's garbage looks at it all.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 10, 10)
