"""Why an ask finds too little on a node: who of its devices drops out where.

Every device that the node reaches and the class matches is counted once, at the
first thing that keeps it out: selector 1, 2, …, pool, hold, taint, counters,
capacity, a constraint's attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import taint_text
from claims.domain.why.values import Near, comparison_in, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    __hash__ = str.__hash__  # Enum's own takes its time, and each device counts by it


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


class _Group:
    """The devices that one cause keeps out, with who holds what each lacks."""

    __slots__ = ("devices", "holds", "more")

    def __init__(self) -> None:
        self.devices: list[str] = []
        self.more: dict[str, None] = {}
        self.holds: list[tuple[str, list[Hold]]] = []

    def add(self, device: str, more: tuple[str, ...], holds: list[Hold]) -> None:
        """Count one device, and who holds what it lacks."""
        self.devices.append(device)
        self.more.update(dict.fromkeys(more))
        if holds:
            self.holds.append((device, holds))

    def loss(self, cause: Cause, detail: str) -> Loss:
        """Return the group as a loss."""
        blocked = self.holds[:MOST_EXAMPLES] if cause == Cause.COUNTERS else ()
        return Loss(
            cause=cause,
            detail=detail,
            count=len(self.devices),
            more=", ".join(self.more),
            examples=tuple(_last(d) for d in self.devices[:MOST_EXAMPLES]),
            holders=_names(hold for _device, holds in self.holds for hold in holds),
            blocked=tuple((_last(device), _names(holds)) for device, holds in blocked),
        )


_Dropped = tuple[Cause, str, "tuple[str, ...]", "list[Hold]"]


class Scale:
    """One ask of a claim, weighed on a cluster: node by node, device by device.

    Args:
        ask: of `asked`, the claim.
        sets: what class and selectors leave for it.
        ground: the cluster.
    """

    def __init__(self, ask: Ask, asked: Asked, sets: AskSets, ground: Ground) -> None:
        self.ask = ask
        self.sets = sets
        self.ground = ground
        self._needed = _needed_attributes(ask, asked)
        self._alike: dict[tuple[int, tuple[int | None, ...]], AskReason] = {}
        self._counts: dict[tuple[Any, ...], AskReason] = {}
        # Each device of the class → the number of the part that leaves it out, from 0.
        self._step = dict.fromkeys(sets.of_class, len(sets.parts))
        left = sets.of_class
        for number, part in enumerate(sets.parts):
            self._step.update(dict.fromkeys(left - part.after, number))
            left = part.after

    def reason(self, node: str) -> AskReason:
        """Return why the ask finds too little on one node."""
        reachable = self.ground.by_node.get(node, ())
        mine = [device for device in reachable if device in self._step]
        groups: dict[tuple[Cause, str], _Group] = {}
        for device in mine:
            if dropped := self._drop(device):
                cause, detail, more, holds = dropped
                groups.setdefault((cause, detail), _Group()).add(device, more, holds)
        losses = tuple(groups[each].loss(*each) for each in sorted(groups, key=_order))
        reason = self._with(len(reachable), len(mine), losses)
        near = self._nearest(reason, mine)
        return replace(reason, nearest=near) if near else reason

    def bare_reason(self, node: str) -> AskReason:
        """Return the same without examples, holders and near misses.

        Nodes with the same numbers share one.
        """
        reachable = self.ground.by_node.get(node, ())
        steps = tuple(map(self._step.get, reachable))
        picture = None if self.ask.capacity else self.ground.picture(node)
        if picture is None:
            return self._counted(reachable)
        key = (picture, steps)
        if key not in self._alike:
            self._alike[key] = self._counted(reachable)
        return self._alike[key]

    def _counted(self, reachable: tuple[str, ...]) -> AskReason:
        mine = [device for device in reachable if device in self._step]
        counts: dict[tuple[Cause, str], int] = {}
        for drop in filter(None, map(self._drop, mine)):
            counts[drop[:2]] = counts.get(drop[:2], 0) + 1
        key = (len(reachable), len(mine), frozenset(counts.items()))
        if key not in self._counts:
            losses = tuple(Loss(*e, counts[e]) for e in sorted(counts, key=_order))
            self._counts[key] = self._with(len(reachable), len(mine), losses)
        return self._counts[key]

    def _with(
        self, reachable: int, of_class: int, losses: tuple[Loss, ...]
    ) -> AskReason:
        return AskReason(
            request=self.ask.request,
            sub=self.ask.sub,
            device_class=self.ask.class_name,
            wanted=self.ask.count,
            is_all=self.ask.is_all,
            reachable=reachable,
            of_class=of_class,
            left=of_class - sum(loss.count for loss in losses),
            losses=losses,
            known_class=self.ground.knows_class(self.ask.class_name),
        )

    def eligible(self, node: str) -> list[str]:
        """Return the devices of a node that nothing keeps the ask from, one by one."""
        return [
            device
            for device in self.ground.by_node.get(node, ())
            if device in self._step and self._drop(device) is None
        ]

    def _nearest(self, reason: AskReason, mine: list[str]) -> tuple[Near, ...]:
        """Return the nearest misses where a selector is the first cause."""
        if not self.sets.parts or (first := reason.first) is None:
            return ()
        if first.cause != Cause.SELECTOR:
            return ()
        worst, lost = None, list[str]()
        for number, part in enumerate(self.sets.parts):
            failing = [device for device in mine if self._step[device] == number]
            if str(part.selector) == first.detail and len(failing) > len(lost):
                worst, lost = part, failing
        if worst is None:
            return ()
        return nearest(self.ground, lost, comparison_in(worst.text))

    def _drop(self, device: str) -> _Dropped | None:
        """Return the first thing that keeps a device of the class out."""
        if (step := self._step[device]) < len(self.sets.parts):
            part = self.sets.parts[step]
            return Cause.SELECTOR, str(part.selector), part.keys, []
        bars = self.ground.bars(device)
        if bars.problem:
            return Cause.POOL, bars.problem, (self.ground.pool_of(device).name,), []
        if bars.holds and not self.ask.is_admin:
            return Cause.HELD, "", (), bars.holds
        plain = bars.is_plain and not self.ask.capacity
        return (None if plain else self._refused(device)) or self._lacks(device)

    def _refused(self, device: str) -> _Dropped | None:
        """Return the taint, counters or capacity that keep a device out."""
        if taints := self.ground.world.untolerated(device, self.ask.tolerations):
            return Cause.TAINT, taint_text(taints[0]), (), []
        if short := self.ground.short_counters(device):
            holds = self.ground.counter_holds(device, short)
            return Cause.COUNTERS, "", (), holds
        key, left = self.ground.lacking(device, self.ask)
        if key:
            holds = self.ground.holds(device)
            return Cause.CAPACITY, key, (left,) if left else (), holds
        return None

    def _lacks(self, device: str) -> _Dropped | None:
        attributes = self.ground.world.devices[device].attributes
        missing = next((key for key in self._needed if key not in attributes), None)
        return (Cause.CONSTRAINT, missing, (), []) if missing else None


def _order(kind: tuple[Cause, str]) -> tuple[int, str]:
    """Return what causes are sorted by: the order in which they are asked."""
    return _ORDER.index(kind[0]), kind[1]


def _needed_attributes(ask: Ask, asked: Asked) -> tuple[str, ...]:
    """Return the attributes that constraints demand of an ask's devices."""
    return tuple(
        str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))
        for _path, constraint in asked.constraints
        if ask in asked.bound(constraint)
    )


def _last(device: str) -> str:
    """Return a device's own name."""
    return device.rpartition("/")[2]


def _names(holds: Iterable[Hold]) -> tuple[str, ...]:
    """Return the claims that hold something, each once."""
    return tuple(dict.fromkeys(f"{hold.namespace}/{hold.name}" for hold in holds))
