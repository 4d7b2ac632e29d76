"""The actor, the reason and the request id of every recorded change.

Rows of tracked models are copied to event tables by database triggers
(pghistory); what this module opens around a change is stored beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pghistory

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def acting(
    *, actor: str, reason: str = "", request_id: str = ""
) -> AbstractContextManager[object]:
    """Attribute the changes made inside to `actor` (a username or a process name)."""
    return pghistory.context(actor=actor, reason=reason, request_id=request_id)
