"""The ASGI entry point; the one that is deployed."""

from __future__ import annotations

import os

import django
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

django.setup(set_prefix=False)

# What this process counts is added to the sums; see portal.core.counting.
from portal.core import counting  # noqa: E402  once Django is set up
from portal.core.garbage import spare_what_is_imported  # noqa: E402
from portal.core.handler import Handler  # noqa: E402

application = Handler()

counting.start()

# What is imported stays; without this, collecting a request's garbage looks at it all.
_ = get_resolver().url_patterns
spare_what_is_imported()
