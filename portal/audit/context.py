"""The actor, the reason and the request id of every recorded change.

Rows of tracked models are copied to event tables by database triggers
(pghistory); what this module opens around a change is stored beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pghistory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

AUDIT_IDS = "audit_ids"


def acting(
    *,
    actor: str,
    reason: str = "",
    request_id: str = "",
    audit_ids: Sequence[str] = (),
) -> AbstractContextManager[object]:
    """Attribute the changes made inside to `actor` (a username or a process name).

    Args:
        actor: who.
        reason: why, in their words or as a code.
        request_id: of the HTTP request that it began with.
        audit_ids: under which an API server logged the writes that it was made of.
    """
    more: dict[str, Any] = {AUDIT_IDS: list(audit_ids)} if audit_ids else {}
    return pghistory.context(actor=actor, reason=reason, request_id=request_id, **more)
