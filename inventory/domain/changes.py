"""What a sync would change, as values, with a check that refuses the unlikely.

A broken watch or a half-read list must not empty the inventory: a change that
would remove more than 30 % of at least ten devices is refused by name, unless
the pools that lose them moved to a new generation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_VANISHING = 0.30
FEWEST_GUARDED = 10


@dataclass(frozen=True, slots=True)
class Change:
    """One object as it now is, in v1 shape; `body` None says that it is gone."""

    kind: str
    namespace: str
    name: str
    body: dict[str, Any] | None

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name


def change_of(body: dict[str, Any]) -> Change:
    """Return the change that says "this object is now so"."""
    metadata = body.get("metadata") or {}
    return Change(
        str(body.get("kind", "")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name", "")),
        body,
    )


def is_unsafe(*, device_count: int, vanishing_count: int) -> bool:
    """Return whether a change would remove an unlikely share of the devices."""
    return (
        device_count >= FEWEST_GUARDED
        and vanishing_count > MOST_VANISHING * device_count
    )
