"""What the engine says of a claim, as checks read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claims.domain.preview import Preview
    from inventory.domain.cel_parts import Parts
    from inventory.domain.engine import Read, RuntimeFault


@dataclass(frozen=True, slots=True)
class Verdict:
    """An expression as the API server and the scheduler judge it.

    Attributes:
        error: the API server's, without cost and length; empty where it compiles.
        cost: estimated; None where it does not compile.
    """

    error: str
    line: int | None
    column: int | None
    cost: int | None
    limit: int
    length: int
    reads: tuple[Read, ...]
    parts: Parts


@dataclass(frozen=True, slots=True)
class SelectorFacts:
    """One selector over the devices that the class and earlier selectors leave.

    Attributes:
        total, match: devices; both 0 where it does not compile.
        mended: of what does not compile, a text that does; None where there is none.
    """

    path: str
    expression: str
    verdict: Verdict
    total: int = 0
    match: int = 0
    errors: tuple[RuntimeFault, ...] = ()
    mended: str | None = None

    @property
    def always_fails(self) -> bool:
        """Whether it holds for no device that it is asked about, and fails on some.

        So whoever looks for one comes to an error, wherever that is; what a driver's
        guard sorts out before makes no difference.
        """
        return self.match == 0 and bool(self.errors)


@dataclass(frozen=True, slots=True)
class AskFacts:
    """What one ask can choose from.

    Attributes:
        of_class: ids of the devices that the class's selectors match.
        candidates: ids of those that its own selectors match too.
        selectors, class_selectors: its own, and those of its class.
    """

    of_class: frozenset[str] = frozenset()
    candidates: frozenset[str] = frozenset()
    selectors: tuple[SelectorFacts, ...] = ()
    class_selectors: tuple[SelectorFacts, ...] = ()

    @property
    def is_class_faulty(self) -> bool:
        """Whether a selector of the class fails, so that no match means nothing."""
        return any(s.verdict.error or s.errors for s in self.class_selectors)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts by the name of the ask (`request` or `request/alternative`)."""

    asks: dict[str, AskFacts] = field(default_factory=dict)
    preview: Preview | None = None

    def of(self, name: str) -> AskFacts:
        """Return the facts of an ask; empty ones where its class is missing."""
        return self.asks.get(name, AskFacts())
