"""Edits of a manifest, each small enough to be shown and to be declined.

A path is a tuple of keys and positions; `text_of` writes it as diagnostics do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from claims.domain.checks.findings import CATALOGUE, Level

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Put:
    """Set a value; what leads to it is made where it is missing.

    Attributes:
        after: a new key stands behind this one, where that is there.
    """

    path: Path
    value: Any
    after: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a key or an item; a mapping that is empty then goes too if it is `limits`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Wrap:
    """Move keys of the mapping at `path` into a mapping of their own below it."""

    path: Path
    keys: tuple[str, ...]
    under: str


@dataclass(frozen=True, slots=True)
class Unwrap:
    """Put the keys of the mapping at `path` in its own place."""

    path: Path


@dataclass(frozen=True, slots=True)
class Rename:
    """Give the key at the end of `path` another name, in its place."""

    path: Path
    key: str


@dataclass(frozen=True, slots=True)
class Append:
    """Put an item at the end of the list at `path`, made where it is missing."""

    path: Path
    value: Any
    after: str = ""


Edit = Put | Drop | Wrap | Unwrap | Rename | Append

# What import says beside the codes of checks; part of the API like those.
LEVELS: dict[str, Level] = {
    **CATALOGUE,
    "import.unreadable": Level.ERROR,
    "import.version": Level.WARNING,
    "import.old_kind": Level.ERROR,
    "import.kept": Level.INFO,
    "import.at_least": Level.WARNING,
    "import.extended_resource": Level.WARNING,
    "import.node_label": Level.WARNING,
    "import.runtime_class": Level.WARNING,
    "import.pod_claims": Level.ERROR,
    "import.compute_domain": Level.INFO,
    "import.namespace": Level.INFO,
    "import.unchecked": Level.WARNING,
}


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that is wrong, and what puts it right.

    Attributes:
        code, variant: choose its sentence.
        path: where it stands in the object as it is now.
        edits: empty where nothing can be done but say so.
        optional: made only when somebody chooses it.
        about: which one, where several of a kind stand at one path.
        adds: documents that go with it.
    """

    code: str
    path: Path
    variant: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    optional: bool = False
    about: str = ""
    adds: tuple[dict[str, Any], ...] = ()

    @property
    def level(self) -> Level:
        """The level of its code."""
        return LEVELS[self.code]

    @property
    def key(self) -> str:
        """A name that stays when other repairs move what it is about."""
        steps = [step for step in self.path if step not in _MOVED]
        kind = f"{self.code}.{self.variant}" if self.variant else self.code
        return f"{kind}:{text_of(tuple(steps))}:{self.about[:120]}"


# Steps that repairs of a shape add or take away.
_MOVED = frozenset({"exactly", "spec", "cel", "expression"})


def text_of(path: Path) -> str:
    """Return a path as in `spec.devices.requests[0].exactly.capacity.requests[a/b]`."""
    text = ""
    for step in path:
        if isinstance(step, int) or any(sign in step for sign in "./[]"):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def at(body: Any, path: Path) -> Any:
    """Return the value at a path, or None."""
    for step in path:
        if isinstance(body, dict) and isinstance(step, str):
            body = body.get(step)
        elif isinstance(body, list) and isinstance(step, int) and step < len(body):
            body = body[step]
        else:
            return None
    return body
