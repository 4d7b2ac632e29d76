"""What the doctor says of one thing: well, not well, or not known; and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import structlog
from django.db import Error
from django.utils.translation import gettext as _

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = structlog.get_logger(__name__)


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


def yes(name: str, found: str, /, **values: object) -> Finding:
    """Say that a thing is well; values stand in a sentence as %(name)s."""
    return Finding(name, Answer.YES, _worded(found, values))


def no(name: str, found: str, advice: str, /, **values: object) -> Finding:
    """Say that a thing is not well, and what to do."""
    return Finding(name, Answer.NO, _worded(found, values), _worded(advice, values))


def unknown(name: str, found: str, advice: str, /, **values: object) -> Finding:
    """Say that a thing cannot be known from here, and how to know it."""
    told = (_worded(found, values), _worded(advice, values))
    return Finding(name, Answer.UNKNOWN, *told)


def _worded(sentence: str, values: dict[str, object]) -> str:
    """Return a sentence with its values; without any it is another's, left as it is."""
    return sentence % values if values else sentence


def looked(name: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return what a look finds; where it cannot look, say that this is not known."""
    try:
        return list(look())
    except Exception as error:
        if not isinstance(error, Error | PortalError | OSError):
            logger.exception("the doctor could not look", name=name)
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        advice = _("Put right what is not well above, and look again.")
        found = _("It cannot be looked at: %(why)s")
        return [unknown(name, found, advice, why=first)]
