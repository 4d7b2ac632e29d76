"""A chain of hashes over events: what is hashed, and how a chain is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

GENESIS = "0" * 64
# What changes while nothing happens: leases and the times of retries.
ROUTINE = frozenset({"lease_until", "attempt_count", "retry_at", "changed_at"})
# Columns of the event itself, not of the row that changed.
BOOKKEEPING = "pgh_"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """One event as it is sealed; `at` in ISO 8601, UTC."""

    number: int
    table: str
    event_id: int
    object_id: int
    at: str
    actor: str
    reason: str
    request_id: str
    content: Mapping[str, Any]
    changes: Mapping[str, Any]
    is_routine: bool
    previous: str

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hexadecimal."""
        text = json.dumps(
            asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Fault:
    """Something that is not as it was sealed.

    Codes: `gap`, `previous`, `digest` (the seal itself was changed), `changed`,
    `removed`, `context` (its event was), `unsealed`, `head`.
    """

    code: str
    number: int
    detail: str = ""


def changes_between(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the columns of a row that differ, with both values."""
    old = before or {}
    return {
        key: [old.get(key), value]
        for key, value in after.items()
        if not key.startswith(BOOKKEEPING) and old.get(key) != value
    }


def is_routine(before: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> bool:
    """Return whether an event says nothing but that a worker was at it."""
    return before is not None and set(changes) <= ROUTINE


def chain_faults(pairs: Iterable[tuple[Sealed, str]]) -> Iterator[Fault]:
    """Yield what is wrong in a chain of (seal, its stored digest), in its order."""
    expected, previous = 1, GENESIS
    for seal, digest in pairs:
        if seal.number != expected:
            yield Fault("gap", seal.number, f"{expected}–{seal.number - 1}")
        if seal.previous != previous:
            yield Fault("previous", seal.number)
        if seal.digest != digest:
            yield Fault("digest", seal.number)
        expected, previous = seal.number + 1, digest


def event_fault(
    seal: Sealed,
    event: Mapping[str, Any] | None,
    context: Mapping[str, Any] | None,
) -> Fault | None:
    """Return how an event differs from what was sealed of it, or None.

    A column that has since been dropped from the table is no difference.
    """
    if event is None:
        return Fault("removed", seal.number, f"{seal.table} {seal.event_id}")
    sealed = seal.content["event"]
    differing = sorted(
        key for key, value in sealed.items() if key in event and event[key] != value
    )
    if differing:
        return Fault("changed", seal.number, ", ".join(differing))
    if (seal.content["context"] or {}) != (context or {}):
        return Fault("context", seal.number)
    return None
