"""What the doctor says of one thing: well, not well, or not known; and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db import Error

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Answer(StrEnum):
    """Whether a thing is as a deployment needs it."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what, as in "postgres" or "cluster prod".
        found: what was seen, one sentence.
        advice: what to do about it; "" where nothing is to be done.
    """

    name: str
    answer: Answer
    found: str
    advice: str = ""


def yes(name: str, found: str) -> Finding:
    """Say that a thing is well."""
    return Finding(name, Answer.YES, found)


def no(name: str, found: str, advice: str) -> Finding:
    """Say that a thing is not well, and what to do."""
    return Finding(name, Answer.NO, found, advice)


def unknown(name: str, found: str, advice: str) -> Finding:
    """Say that a thing cannot be known from here, and how to know it."""
    return Finding(name, Answer.UNKNOWN, found, advice)


def looked(name: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return what a look finds; where it cannot look, say that this is not known."""
    try:
        return list(look())
    except (Error, PortalError, OSError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        advice = "Put right what is not well above, and look again."
        return [unknown(name, f"It cannot be looked at: {first}", advice)]
