"""Which cards are near each other, by what their drivers publish.

A PCIe root, a NUMA node, an NVLink clique or a fabric is a name that several
devices share. Values are only compared under the same full key: Intel's `pciRoot`
is no `pcieRoot`. Standard keys may be lists (gate DRAListTypeAttributes).

Source: k8s.io/dynamic-resource-allocation deviceattribute; NVIDIA, AMD, Intel.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inventory.domain.cards import Card

# (full key, value)
Place = tuple[str, str]

_NEAR = re.compile(
    r"^(pcie?Root|numa(Node(ID)?)?)$|clique|nvlink|fabric(?!Manager)|xgmi"
    r"|^clusterUUID$",
    re.IGNORECASE,
)
_KINDS = (
    ("pcie", re.compile(r"^pcie?Root$", re.IGNORECASE)),
    ("numa", re.compile(r"^numa", re.IGNORECASE)),
    ("link", re.compile("")),
)


@lru_cache(maxsize=4_096)
def is_near(name: str) -> bool:
    """Return whether the last segment of a key says where a device sits."""
    return bool(_NEAR.search(name))


def kind_of(key: str) -> str:
    """Return pcie, numa or link, for a full key."""
    name = key.rpartition("/")[2]
    return next(kind for kind, pattern in _KINDS if pattern.search(name))


def places_of(attributes: Mapping[str, Any]) -> list[Place]:
    """Return where a device sits; a list counts once for each of its values."""
    found: list[Place] = []
    for key in sorted(attributes):
        if is_near(key.rpartition("/")[2]):
            found += [(key, value) for value in _values(attributes[key])]
    return found


def _values(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    values = value if isinstance(value, list) else [value]
    kept = [v for v in values if v not in (None, "") and not isinstance(v, bool)]
    return [str(v) for v in kept]


@dataclass(frozen=True, slots=True)
class Group:
    """Cards that one place holds.

    Attributes:
        kind: pcie, numa or link.
        cards: their names, in the order in which they came.
    """

    kind: str
    key: str
    value: str
    cards: tuple[str, ...]


def groups_of(cards: Iterable[Card]) -> list[Group]:
    """Return the places of some cards, by kind, key and value."""
    found: dict[Place, list[str]] = defaultdict(list)
    for card in cards:
        for place in card.topology:
            found[place].append(card.name)
    groups = [Group(kind_of(key), key, v, tuple(of)) for (key, v), of in found.items()]
    return sorted(groups, key=_order)


def _order(group: Group) -> tuple[str, str, int, str]:
    """Numbers by their size, so that NUMA node 10 comes after 9."""
    number = int(group.value) if group.value.isdecimal() else -1
    return group.kind, group.key, number, group.value
