"""What admission in the cluster made of a claim, for the claim's page.

Told by an app above this one, which installs itself when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inventory.models import KubeObject


@dataclass(frozen=True, kw_only=True)
class AdmissionNote:
    """One thing that admission did.

    Attributes:
        sentences: what it did, and why.
        asked, mutated: digests of what was asked for and of what it became.
        patch: JSON Patch that was answered.
    """

    at: datetime
    kind: str
    word: str
    sentences: tuple[str, ...]
    asked: str = ""
    mutated: str = ""
    patch: tuple[dict[str, Any], ...] = ()


Notes = Callable[["KubeObject"], list[AdmissionNote]]


def _none(_claim: KubeObject) -> list[AdmissionNote]:
    return []


_installed: list[Notes] = [_none]


def install(notes: Notes) -> None:
    """Have claims' pages told by this from now on."""
    _installed[0] = notes


def admission_notes(claim: KubeObject) -> list[AdmissionNote]:
    """Return what admission did to a claim, oldest first."""
    return _installed[0](claim)
