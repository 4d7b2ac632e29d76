"""Why an ask finds too little on a node: who of its devices drops out where.

Every device that the node reaches and the class matches is counted once, at the
first thing that keeps it out: selector 1, 2, …, pool, hold, taint, counters,
capacity, a constraint's attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import taint_text
from claims.domain.why.values import Near, comparison_in, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.world import Hold
    from claims.domain.why.ground import Ground

Json = dict[str, Any]

MOST_EXAMPLES = 4


class Cause(StrEnum):
    """What keeps devices out, in the order in which it is asked."""

    CLASS = "class"
    SELECTOR = "selector"
    POOL = "pool"
    HELD = "held"
    TAINT = "taint"
    COUNTERS = "counters"
    CAPACITY = "capacity"
    CONSTRAINT = "constraint"


_ORDER = list(Cause)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a selector that must hold, and what is left after it.

    Attributes:
        selector: its number, from 1; 0 for none.
        path: of the selector's expression.
        keys: the attributes and capacities that it reads, without their domain.
        after: ids of the class that this and all earlier parts match.
    """

    selector: int
    path: str
    text: str
    keys: tuple[str, ...]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class AskSets:
    """What class and selectors leave for one ask, over the whole cluster."""

    of_class: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()

    @property
    def candidates(self) -> frozenset[str]:
        """What is left after every part."""
        return self.parts[-1].after if self.parts else self.of_class


@dataclass(frozen=True, slots=True)
class Loss:
    """How many devices one cause keeps out.

    Attributes:
        detail: the number of the selector, what is wrong with a pool, a taint, a capacity
            key or an attribute.
        more: the keys that the selector reads, or what is left of the capacity.
        examples: names of devices.
        holders: `namespace/name` of the claims that are in the way.
        blocked: of counters, name of a device and the claims that block it.
    """

    cause: Cause
    detail: str
    count: int
    more: str = ""
    examples: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    blocked: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class AskReason:
    """Why one ask finds too little on a node, or that it finds enough.

    Attributes:
        wanted: how many devices it takes; with `is_all` every match.
        reachable: devices that the node reaches, of any class.
        of_class: of those, how many the class matches.
        left: how many nothing keeps out.
    """

    request: str
    sub: str
    device_class: str
    wanted: int
    is_all: bool
    reachable: int
    of_class: int
    left: int
    losses: tuple[Loss, ...] = ()
    nearest: tuple[Near, ...] = ()
    known_class: bool = True

    @property
    def name(self) -> str:
        """`request` or `request/alternative`."""
        return f"{self.request}/{self.sub}" if self.sub else self.request

    @property
    def is_enough(self) -> bool:
        """Whether, by itself, nothing keeps this ask from the node."""
        return self.first is None

    @property
    def first(self) -> Loss | None:
        """What leaves too few devices; None where enough is left.

        The selector that does, or else the greatest of what keeps matches out.
        """
        least = 1 if self.is_all else self.wanted
        if self.of_class < least:
            return Loss(Cause.CLASS, self.device_class, self.reachable - self.of_class)
        left = self.of_class
        others: list[Loss] = []
        for loss in self.losses:
            left -= loss.count
            if loss.cause != Cause.SELECTOR:
                others.append(loss)
            elif left < least:
                return loss
        if others and (self.is_all or left < least):
            return max(others, key=lambda loss: loss.count)
        return None

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal for nodes that say the same, whoever holds the devices."""
        losses = tuple((loss.cause, loss.detail, loss.count) for loss in self.losses)
        numbers = (self.reachable, self.of_class, self.left)
        return (self.name, *numbers, losses, self.nearest)

    def merged(self, other: AskReason) -> AskReason:
        """Return the reason of two nodes with one key, with the holders of both."""
        losses = tuple(
            replace(
                mine,
                holders=tuple(dict.fromkeys([*mine.holders, *theirs.holders])),
                examples=tuple(dict.fromkeys([*mine.examples, *theirs.examples]))[
                    :MOST_EXAMPLES
                ],
                blocked=(*mine.blocked, *theirs.blocked)[:MOST_EXAMPLES],
            )
            for mine, theirs in zip(self.losses, other.losses, strict=True)
        )
        return replace(self, losses=losses)


@dataclass(slots=True)
class _Group:
    more: dict[str, None] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    holders: dict[str, None] = field(default_factory=dict)
    blocked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def add(self, device: str, more: tuple[str, ...], holds: list[Hold]) -> None:
        """Count one device, and who holds what it lacks."""
        names = tuple(dict.fromkeys(_names(holds)))
        self.devices.append(device)
        self.more.update(dict.fromkeys(more))
        self.holders.update(dict.fromkeys(names))
        if names and len(self.blocked) < MOST_EXAMPLES:
            self.blocked.append((device.rpartition("/")[2], names))

    def loss(self, cause: Cause, detail: str) -> Loss:
        """Return the group as a loss."""
        return Loss(
            cause=cause,
            detail=detail,
            count=len(self.devices),
            more=", ".join(self.more),
            examples=tuple(d.rpartition("/")[2] for d in self.devices[:MOST_EXAMPLES]),
            holders=tuple(self.holders),
            blocked=tuple(self.blocked) if cause == Cause.COUNTERS else (),
        )


def ask_reason(
    ask: Ask, asked: Asked, sets: AskSets, ground: Ground, node: str
) -> AskReason:
    """Return why an ask finds too little on one node."""
    reachable = ground.by_node.get(node, ())
    mine = [device for device in reachable if device in sets.of_class]
    groups: dict[tuple[Cause, str], _Group] = {}
    needed = _needed_attributes(ask, asked)
    left = 0
    for device in mine:
        dropped = _drop(device, ask, sets, ground, needed)
        if dropped is None:
            left += 1
            continue
        cause, detail, more, holds = dropped
        groups.setdefault((cause, detail), _Group()).add(device, more, holds)
    losses = tuple(
        group.loss(cause, detail)
        for (cause, detail), group in sorted(
            groups.items(), key=lambda each: (_ORDER.index(each[0][0]), each[0][1])
        )
    )
    reason = AskReason(
        request=ask.request,
        sub=ask.sub,
        device_class=ask.class_name,
        wanted=ask.count,
        is_all=ask.is_all,
        reachable=len(reachable),
        of_class=len(mine),
        left=left,
        losses=losses,
        known_class=ground.knows_class(ask.class_name),
    )
    return replace(reason, nearest=_nearest(reason, mine, sets, ground))


def eligible(
    ask: Ask, asked: Asked, sets: AskSets, ground: Ground, node: str
) -> list[str]:
    """Return the devices of a node that nothing keeps an ask from, one by one."""
    needed = _needed_attributes(ask, asked)
    return [
        device
        for device in ground.by_node.get(node, ())
        if device in sets.of_class and _drop(device, ask, sets, ground, needed) is None
    ]


def _nearest(
    reason: AskReason, mine: list[str], sets: AskSets, ground: Ground
) -> tuple[Near, ...]:
    """Return the nearest misses where a selector is the first cause."""
    if reason.first is None or reason.first.cause != Cause.SELECTOR:
        return ()
    left, worst = mine, None
    lost: list[str] = []
    for part in sets.parts:
        failing = [device for device in left if device not in part.after]
        if str(part.selector) == reason.first.detail and len(failing) > len(lost):
            worst, lost = part, failing
        left = [device for device in left if device in part.after]
    return nearest(ground, lost, comparison_in(worst.text)) if worst else ()


_Dropped = tuple[Cause, str, "tuple[str, ...]", "list[Hold]"]


def _drop(
    device: str, ask: Ask, sets: AskSets, ground: Ground, needed: tuple[str, ...]
) -> _Dropped | None:
    """Return the first thing that keeps a device of the class out."""
    for part in sets.parts:
        if device not in part.after:
            return Cause.SELECTOR, str(part.selector), part.keys, []
    if problem := ground.pool_problem(device):
        return Cause.POOL, problem, (ground.pool_of(device).name,), []
    if not ask.is_admin and (holds := ground.blocking_holds(device)):
        return Cause.HELD, "", (), holds
    if taints := ground.world.untolerated(device, ask.tolerations):
        return Cause.TAINT, taint_text(taints[0]), (), []
    return _short(device, ask, ground) or _lacks(device, needed, ground)


def _short(device: str, ask: Ask, ground: Ground) -> _Dropped | None:
    if short := ground.short_counters(device):
        return Cause.COUNTERS, "", (), ground.counter_holds(device, short)
    key, left = ground.lacking(device, ask)
    if key:
        return Cause.CAPACITY, key, (left,) if left else (), ground.holds(device)
    return None


def _lacks(device: str, needed: tuple[str, ...], ground: Ground) -> _Dropped | None:
    attributes = ground.world.devices[device].attributes
    missing = next((key for key in needed if key not in attributes), None)
    return (Cause.CONSTRAINT, missing, (), []) if missing else None


def _needed_attributes(ask: Ask, asked: Asked) -> tuple[str, ...]:
    """Return the attributes that constraints demand of an ask's devices."""
    return tuple(
        str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))
        for _path, constraint in asked.constraints
        if ask in asked.bound(constraint)
    )


def _names(holds: Iterable[Hold]) -> Iterator[str]:
    for hold in holds:
        yield f"{hold.namespace}/{hold.name}"
