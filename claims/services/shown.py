"""A preview as a page shows it: values that a template reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claims.domain.preview import Preview
    from claims.domain.why.cost import ClaimCost
    from inventory.domain.engine import Copies


@dataclass(frozen=True, slots=True)
class Device:
    """A device, or a share of one, that the claim would get."""

    name: str
    pool: str
    consumed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """What one request gets on a node.

    Attributes:
        number: of its alternative, 0 for none.
        choices: of how many equal devices, in no fixed order; 0 where it is fixed.
    """

    request: str
    alternative: str
    number: int
    devices: tuple[Device, ...]
    choices: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes with one answer: one that fits, or all that say the same no."""

    outcome: str
    nodes: tuple[tuple[str, tuple[str, ...]], ...]  # (name, marks)
    more: int
    message: str
    taken: tuple[Taken, ...] = ()
    score: int | None = None
    copies: Copies | None = None
    reasons: tuple[Reason, ...] = ()
    blame: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one alternative finds too little: its first cause, and a sentence."""

    label: str
    first: str
    text: str


@dataclass(frozen=True, slots=True)
class Together:
    """How many copies fit at once, as a Deployment of as many would ask.

    Attributes:
        at_least: more may fit: the count ended, or not all nodes were counted.
        reasons: why the next one fits nowhere.
    """

    copies: int
    at_least: bool
    reasons: tuple[Reason, ...] = ()

    @property
    def failing(self) -> int:
        """The number of the first copy that does not fit."""
        return self.copies + 1


@dataclass(frozen=True, slots=True)
class Help:
    """A proven change in words; `action` is what a button that makes it is worth."""

    text: str
    where: str
    action: str


@dataclass(frozen=True, slots=True)
class AlternativeRow:
    """One alternative as if it were the only one of its list."""

    label: str
    number: int
    fitting: tuple[str, ...]
    undecided: int
    total: int
    error: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A preview as a page shows it.

    Attributes:
        pod_error: what ends scheduling on every node, said once; "".
        best: the nodes that score highest where scores differ.
        helps: what would let the claim fit, the smallest first.
    """

    preview: Preview
    fitting: int
    undecided: int
    total: int
    pod_error: str
    rows: tuple[Row, ...]
    alternatives: tuple[AlternativeRow, ...]
    best: tuple[str, ...]
    best_score: int | None
    next_score: int | None
    has_scores: bool
    has_copies: bool
    together: Together | None = None
    helps: tuple[Help, ...] = ()
    cost: ClaimCost | None = None

    @property
    def has_choices(self) -> bool:
        """Whether another attempt may be given other devices."""
        return any(each.choices for row in self.rows for each in row.taken)
