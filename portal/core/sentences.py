"""Sentences that are kept as a code and values, and worded for whoever reads them.

What a worker writes down is read by people of several languages. Each app adds
its sentences when it is loaded; codes are stable, since rows keep them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils import translation

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Json = dict[str, Any]

_SENTENCES: dict[str, _StrPromise] = {}


def add_sentences(sentences: Mapping[str, _StrPromise]) -> None:
    """Make sentences known, by code, with %(name)s where a value belongs.

    Raises:
        ValueError: A code has another sentence already.
    """
    for code, sentence in sentences.items():
        if _SENTENCES.setdefault(code, sentence) is not sentence:
            raise ValueError(f"{code} has a sentence already.")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that is worded when it is read.

    Attributes:
        code: of a sentence that some app has added.
        values: text and numbers; one may itself be a Said.
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it in the language that is active."""
        return _worded(self.document())

    def document(self) -> Json:
        """Return it as JSON, for `shown`."""
        values = {
            name: value.document() if isinstance(value, Said) else value
            for name, value in self.values.items()
        }
        return {"code": self.code, "values": values}


def _worded(kept: Mapping[str, Any]) -> str:
    values = {
        name: _worded(value) if isinstance(value, Mapping) else value
        for name, value in kept["values"].items()
    }
    return str(_SENTENCES[kept["code"]] % values)


def kept(message: str | Said) -> Json:
    """Return the columns in which a message is kept: English text, and how to word it."""
    if isinstance(message, str):
        return {"message": message, "said": None}
    with translation.override("en"):
        return {"message": str(message), "said": message.document()}


def shown(text: str, said: Mapping[str, Any] | None) -> str:
    """Return a kept message in the language that is active.

    The text stands where there is nothing to word: in rows of earlier releases, and
    where a code or a value of it is no longer known.
    """
    if said is None:
        return text
    try:
        return _worded(said)
    except (KeyError, TypeError):
        return text
