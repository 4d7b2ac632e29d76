"""Places where a test may end this process, as a power cut would.

`SLICEWISE_FAULT=<point>` names one; unset, nothing happens. Refused in
production.
"""

from __future__ import annotations

import os
import signal
from typing import Final

from django.core.exceptions import ImproperlyConfigured

VARIABLE: Final = "SLICEWISE_FAULT"
BEFORE_CREATE: Final = "before-create"
CREATED: Final = "created"
RECORDED: Final = "recorded"
BEFORE_DELETE: Final = "before-delete"
DELETED: Final = "deleted"
RELEASED: Final = "released"
ENDING: Final = "ending"
DECIDED: Final = "decided"
COUNTED: Final = "counted"
APPROVED: Final = "approved"
AGREED: Final = "agreed"
STORED: Final = "stored"
SUBMITTED: Final = "submitted"
ORDERED: Final = "ordered"
RELEASE_BEGUN: Final = "release-begun"

_CHOSEN = os.environ.get(VARIABLE, "")
if _CHOSEN and os.environ.get("SLICEWISE_PRODUCTION", "").lower() in {
    "1",
    "true",
    "yes",
    "on",
}:
    raise ImproperlyConfigured(f"{VARIABLE} is for tests: unset it in production.")


def reach(point: str) -> None:
    """Kill this process at once if this is the chosen point."""
    if point == _CHOSEN:
        os.kill(os.getpid(), signal.SIGKILL)
