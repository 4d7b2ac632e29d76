"""Changes worth trying: what would have to be asked otherwise for a claim to fit.

They are guesses from what is published and free; only the engine proves one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from claims.domain.checks.capacity import quantity_text
from claims.domain.checks.claims import MOST_DEVICES
from claims.domain.why.changes import Change, Ladder, Rank
from claims.domain.why.conjuncts import conjuncts, without_part
from claims.domain.why.reasons import AskSets, Part
from claims.domain.why.values import by_distance, comparison_in, published, shown
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.why.ground import Ground
    from claims.domain.why.reasons import AskReason
    from claims.domain.why.values import Comparison

Json = dict[str, Any]

MOST_VALUES = 16
MOST_OTHER_VALUES = 4
MOST_CLASSES = 6
MOST_ENDINGS = 12


def ladders(
    asked: Asked, sets: Mapping[str, AskSets], ground: Ground, left: Mapping[str, int]
) -> list[Ladder]:
    """Return the changes worth trying, the smallest kinds first.

    Args:
        asked: the claim.
        sets: what class and selectors leave for each ask.
        ground: the cluster.
        left: asks that find too little somewhere → how many devices the best node
            has left for it.
    """
    found = [
        ladder
        for ask in asked.asks
        if ask.name in left
        for ladder in [
            *_of_ask(ask, sets[ask.name], ground),
            *_fewer(ask, left[ask.name]),
        ]
    ]
    found += _unbound(asked)
    return sorted(found, key=lambda ladder: ladder.rungs[0].rank)


def repairs(asked: Asked, ground: Ground) -> list[Ladder]:
    """Return changes worth trying where every node ends in an error.

    What fails is left out: a condition, a selector, a constraint, a class, and
    `All` where one device would do. What nodes have left is not known then.
    """
    found: list[Ladder] = []
    for ask in asked.asks:
        parts = tuple(
            Part(number, path, text, (), frozenset())
            for number, (path, expression) in enumerate(ask.selectors, start=1)
            for text in conjuncts(expression)
        )
        found += _dropped(ask, AskSets(frozenset(), parts))
        found += _fewer(ask, MOST_DEVICES)
        found += _classes(ask, ground)
    found += _unbound(asked)
    return sorted(found, key=lambda ladder: ladder.rungs[0].rank)


def _unbound(asked: Asked) -> Iterator[Ladder]:
    """Yield the claim without one of its constraints."""
    for path, body in asked.constraints:
        key = str(body.get("matchAttribute") or body.get("distinctAttribute"))
        change = Change(Rank.CONSTRAINT, path, body, None, values={"key": key})
        yield Ladder((change,))


def endings(reasons: Iterable[AskReason], own: frozenset[str]) -> list[tuple[str, str]]:
    """Return (namespace, name) of claims in the way, those of `own` namespaces first."""
    holders = {
        tuple(holder.split("/", 1)): None
        for reason in reasons
        for loss in reason.losses
        for holder in loss.holders
    }
    ordered = sorted(holders, key=lambda each: (each[0] not in own, each))
    return [(namespace, name) for namespace, name in ordered[:MOST_ENDINGS]]


def _of_ask(ask: Ask, sets: AskSets, ground: Ground) -> Iterator[Ladder]:
    for part in sets.parts:
        if part.after != sets.of_class:
            yield from _other_values(ask, part, sets, ground)
    yield from _less(ask, sets, ground)
    yield from _tolerating(ask, sets, ground)
    yield from _dropped(ask, sets)
    yield from _classes(ask, ground)


def _other_values(
    ask: Ask, part: Part, sets: AskSets, ground: Ground
) -> Iterator[Ladder]:
    """Yield a comparison with values that devices of the class really publish."""
    compared = comparison_in(part.text)
    whole = dict(ask.selectors).get(part.path, "")
    if compared is None or whole.count(part.text) != 1:
        return
    failing = sorted(sets.of_class - part.after)
    values = {published(ground, device, compared) for device in failing}
    nearest = by_distance(compared, (value for value in values if value is not None))
    changes = [
        _with_value(ask, part, whole, compared, value)
        for value in nearest[:MOST_VALUES]
    ]
    if compared.direction == "=":
        yield from (Ladder((change,)) for change in changes[:MOST_OTHER_VALUES])
    elif changes:
        yield Ladder(tuple(changes))


def _with_value(
    ask: Ask, part: Part, whole: str, compared: Comparison, value: str
) -> Change:
    text = part.text[: compared.start] + compared.with_value(value)
    new = whole.replace(part.text, text + part.text[compared.end :])
    rank = Rank.VALUE if compared.direction == "=" else Rank.RELAX
    values = {
        "number": str(part.selector),
        "key": compared.key,
        "value": shown(compared.kind, value),
        "sign": {"=": "=", ">": "≥", "<": "≤"}[compared.direction],
    }
    return Change(rank, part.path, whole, new, ask.name, values)


def _fewer(ask: Ask, left: int) -> Iterator[Ladder]:
    """Yield lower counts, none above what the best node has left."""
    if ask.is_all:
        path = f"{ask.path}.allocationMode"
        yield Ladder((Change(Rank.COUNT, path, "All", "ExactCount", ask.name),))
    elif highest := min(ask.count - 1, left):
        path = f"{ask.path}.count"
        rungs = (
            Change(Rank.COUNT, path, ask.count, count, ask.name)
            for count in range(highest, 0, -1)
        )
        yield Ladder(tuple(rungs))


def _less(ask: Ask, sets: AskSets, ground: Ground) -> Iterator[Ladder]:
    """Yield less of a capacity, down to what devices have left of it; or none of it."""
    for key, amount in ask.capacity.items():
        path = f"{ask.path}.capacity.requests[{key}]"
        asked = quantity_or_zero(amount)
        there = {
            _askable(ground, device, key)
            for device in sets.candidates
            if key in ground.world.published[device]
        }
        amounts = sorted((each for each in there if 0 < each < asked), reverse=True)
        values = {"key": key}
        if amounts:
            rungs = (
                Change(
                    Rank.CAPACITY, path, amount, quantity_text(each), ask.name, values
                )
                for each in amounts[:MOST_VALUES]
            )
            yield Ladder(tuple(rungs))
        if not there:
            yield from _renamed(ask, key, sets, ground)
            gone = Change(Rank.PART, path, amount, None, ask.name, values)
            yield Ladder((gone,))


def _renamed(ask: Ask, key: str, sets: AskSets, ground: Ground) -> Iterator[Ladder]:
    """Yield a capacity's key as drivers write it, where only its domain differs."""
    known = {
        each for device in sets.candidates for each in ground.world.published[device]
    }
    path = f"{ask.path}.capacity.requests"
    for other in sorted(known - set(ask.capacity)):
        if other.rpartition("/")[2] == key.rpartition("/")[2]:
            new = {other if k == key else k: v for k, v in ask.capacity.items()}
            values = {"key": key, "other": other}
            change = Change(Rank.CAPACITY, path, ask.capacity, new, ask.name, values)
            yield Ladder((change,))


def _askable(ground: Ground, device: str, key: str) -> Fraction:
    """Return the most of a capacity that could be asked of a device now."""
    left = ground.capacity_left(device)[key]
    capacity = ground.world.published[device][key]
    policy = capacity.get("requestPolicy") or {}
    if listed := [quantity_or_zero(each) for each in policy.get("validValues") or []]:
        return max((each for each in listed if each <= left), default=Fraction(0))
    ranged = policy.get("validRange") or {}
    least = quantity_or_zero(ranged.get("min", 0))
    if ranged.get("max") is not None:
        left = min(left, quantity_or_zero(ranged["max"]))
    step = quantity_or_zero(ranged.get("step", 0))
    return least + (left - least) // step * step if step > 0 else left


def _tolerating(ask: Ask, sets: AskSets, ground: Ground) -> Iterator[Ladder]:
    taints = {
        (str(taint.get("key")), str(taint.get("effect")))
        for device in sets.candidates
        for taint in ground.world.untolerated(device, ask.tolerations)
    }
    path, now = f"{ask.path}.tolerations", ask.tolerations
    for key, effect in sorted(taints):
        one = {"key": key, "operator": "Exists", "effect": effect}
        values = {"taint": f"{key}:{effect}"}
        change = Change(Rank.TOLERATE, path, now, [*now, one], ask.name, values)
        yield Ladder((change,))
    if len(taints) > 1:
        values = {"taint": ", ".join(f"{k}:{e}" for k, e in sorted(taints))}
        every = [*now, {"operator": "Exists"}]
        yield Ladder((Change(Rank.TOLERATE, path, now, every, ask.name, values),))


def _dropped(ask: Ask, sets: AskSets) -> Iterator[Ladder]:
    """Yield each selector without one of its conditions, and without itself."""
    for number, (path, whole) in enumerate(ask.selectors, start=1):
        mine = [part for part in sets.parts if part.selector == number]
        texts = [part.text for part in mine]
        values = {"number": str(number)}
        for at, part in enumerate(mine if len(mine) > 1 else ()):
            named = {**values, "keys": ", ".join(part.keys), "part": part.text}
            new = without_part(texts, at)
            yield Ladder((Change(Rank.PART, path, whole, new, ask.name, named),))
        selector = path.removesuffix(".cel.expression")
        old = {"cel": {"expression": whole}}
        keys = dict.fromkeys(key for part in mine for key in part.keys)
        named = {**values, "keys": ", ".join(keys)}
        yield Ladder((Change(Rank.SELECTOR, selector, old, None, ask.name, named),))


def _classes(ask: Ask, ground: Ground) -> Iterator[Ladder]:
    path = f"{ask.path}.deviceClassName"
    others = sorted(set(ground.world.classes()) - {ask.class_name})
    for name in others[:MOST_CLASSES]:
        yield Ladder((Change(Rank.CLASS, path, ask.class_name, name, ask.name),))
