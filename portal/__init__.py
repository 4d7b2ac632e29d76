"""The project package: composition and what every app shares."""

from __future__ import annotations

from portal.celery import app as celery_app

__all__ = ["celery_app"]
