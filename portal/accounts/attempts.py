"""Failed sign-ins, counted in the cache by name and address.

Where the cache is away nobody is locked out: the passwords still stand.
"""

from __future__ import annotations

import hashlib

from portal.core import kept

LIMIT = 10
WINDOW_SECONDS = 5 * 60


def _key(name: str, address: str) -> str:
    digest = hashlib.sha256(f"{name.casefold()}\0{address}".encode()).hexdigest()
    return f"sign-in-failures:{digest}"


def exhausted(*, name: str, address: str) -> bool:
    """Return whether this name failed `LIMIT` times from this address of late."""
    return int(kept.recall(_key(name, address)) or 0) >= LIMIT


def record_failure(*, name: str, address: str) -> None:
    """Count one failure; the window starts at the first."""
    kept.count(_key(name, address), WINDOW_SECONDS)


def forget(*, name: str, address: str) -> None:
    """Start again from zero, after a success."""
    kept.forget(_key(name, address))
