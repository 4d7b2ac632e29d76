"""The command-line client of a Slicewise portal, made on its REST API alone."""

from __future__ import annotations
