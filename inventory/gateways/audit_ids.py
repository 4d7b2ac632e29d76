"""The ids under which API servers logged our writes, gathered for our own record.

Each answer of an API server names the id of its request in the server's audit log.

Source: Kubernetes, k8s.io/apiserver/pkg/apis/audit, HeaderAuditID.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = "Audit-Id"
# A release of many pods makes many writes; of more than this nobody reads the ids.
MOST = 50
_ids: ContextVar[list[str] | None] = ContextVar("audit_ids", default=None)


@contextmanager
def gathering() -> Iterator[None]:
    """Gather the ids of all writes that are made inside, refused ones too."""
    token = _ids.set([])
    try:
        yield
    finally:
        _ids.reset(token)


def note(audit_id: str) -> None:
    """Keep the id of a write, where somebody gathers; "" is none."""
    ids = _ids.get()
    if ids is not None and audit_id and len(ids) < MOST:
        ids.append(audit_id[:64])


def gathered() -> tuple[str, ...]:
    """Return what was gathered so far, in the order of the writes."""
    return tuple(_ids.get() or ())
