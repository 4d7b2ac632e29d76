"""Of what a CEL expression is made, as its own parser sees it.

The shapes are those of engine/README.md; places are indices into the text, in
code points, the end not included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an expression names a key of a device, and its domain.

    Attributes:
        map: "attributes" or "capacity".
        is_optional: it may be missing there: has(), `in`, `.?key`, `[?"key"]`.
        at: of the key; None where the parser keeps no place of it, as in has().
        domain_at: of the domain, with the quotes of a literal; None as well.
    """

    map: str
    domain: str
    key: str
    is_optional: bool
    at: Span | None
    domain_at: Span | None

    @classmethod
    def parse(cls, body: Json) -> Spot:
        """Return one of the spots of /v1/cel/check."""
        at, domain_at = _span(body["at"]), _span(body["domainAt"])
        return cls(
            body["map"], body["domain"], body["key"], body["optional"], at, domain_at
        )

    @property
    def full(self) -> str:
        """The key with its domain."""
        return f"{self.domain}/{self.key}"


@dataclass(frozen=True, slots=True)
class Dud:
    """A call on literals alone that ends in an error, whatever the device.

    Attributes:
        literal: the first string that it is given.
        error: as a device would say it that comes there.
        at: of that string, with its quotes.
    """

    function: str
    literal: str
    error: str
    at: Span

    @classmethod
    def parse(cls, body: Json) -> Dud:
        """Return one of the duds of /v1/cel/check."""
        at = _span(body["at"]) or (0, 0)
        return cls(body["function"], body["literal"], body["error"], at)


@dataclass(frozen=True, slots=True)
class Parts:
    """What an expression is made of; nothing where it does not parse.

    Attributes:
        calls: names of the functions and operators.
        is_nested: a loop runs inside a loop.
    """

    calls: frozenset[str] = frozenset()
    is_nested: bool = False
    spots: tuple[Spot, ...] = ()
    duds: tuple[Dud, ...] = ()

    @classmethod
    def parse(cls, body: Json) -> Parts:
        """Return the parts of one of the results of /v1/cel/check."""
        return cls(
            frozenset(body["calls"]),
            body["nested"],
            tuple(Spot.parse(each) for each in body["spots"]),
            tuple(Dud.parse(each) for each in body["duds"]),
        )


def _span(body: Json | None) -> Span | None:
    return (body["start"], body["end"]) if body else None
