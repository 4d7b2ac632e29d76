"""GPU cards, derived from device rows: each card once, its memory once.

A driver publishes devices, not cards. One card may be published as a whole GPU,
as MIG partitions (with or without their parent, with or without counters), as a
second face for passthrough, or by two drivers at once; rows are joined by what
they have in common: counter set, UUID, parent UUID, PCI address.

Source: what the drivers publish (NVIDIA, AMD, Intel, HAMi, the example driver).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.domain.gpus import (
    amounts,
    capacity_of,
    cells_of,
    has_memory,
    is_gpu,
    pci_address,
)
from inventory.domain.topology import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inventory.domain.gpus import Amounts, CounterSet, DeviceFacts, Taint
    from inventory.domain.topology import Place

Key = tuple[str, ...]

PARTITION_TYPES = frozenset({"mig", "amdgpu-partition", "vf"})
# NVIDIA's names of MIG profiles: compute slices, then memory, as in 3g.40gb.
_COMPUTE = re.compile(r"(?:\d+c\.)?(\d+)g\.")
_SET_SUFFIX = re.compile(r"-counter(s|-set)?$")
_NO_NAME = frozenset({"", "Unknown"})


@dataclass(frozen=True, slots=True)
class Part:
    """One face of a card: the whole, a partition of it, or its passthrough sibling."""

    driver: str
    pool: str
    name: str
    role: str  # whole | partition | passthrough
    profile: str
    memory: int | None  # bytes; None: not published
    cells: tuple[int, ...]
    counter_set: str
    uses: Amounts
    shared: bool
    share_count: int | None  # what the capacity `shares` says
    taints: tuple[Taint, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """Driver, pool and name."""
        return self.driver, self.pool, self.name

    @property
    def blocked(self) -> bool:
        """Whether a taint keeps a claim without tolerations out."""
        return any(taint.blocks for taint in self.taints)

    @property
    def compute(self) -> int:
        """How many compute slices its MIG profile has, 0 where it is none."""
        named = _COMPUTE.match(self.profile)
        return int(named[1]) if named else 0


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU.

    `total` is in bytes; None where no driver publishes it (memory shared with the
    system, discovery without rights). `at_least` marks a sum of partitions that
    may not cover the card. `cell_count` is 0 where memory is not cut in slices.
    """

    node: str
    driver: str
    pool: str
    name: str
    product: str
    kind: str  # whole | dynamic | static | shares
    total: int | None
    at_least: bool
    cell_count: int
    counters: Amounts
    parts: tuple[Part, ...]
    double_advertised: bool = False
    # By which others name the same card: UUIDs and PCI addresses, in lower case.
    uuids: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    topology: tuple[Place, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Driver, pool and name, by which its history is found."""
        return self.driver, self.pool, self.name

    @property
    def compute_count(self) -> int:
        """Compute slices: of its largest profile, or of all that it is cut into."""
        of = [part.compute for part in self.parts if part.role == "partition"]
        return sum(of) if self.kind == "static" else max(of, default=0)

    @property
    def pools(self) -> frozenset[tuple[str, str]]:
        """The (driver, pool) pairs that publish it: two where two drivers do."""
        return frozenset(
            {(part.driver, part.pool) for part in self.parts}
        ) or frozenset({(self.driver, self.pool)})

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The different taints of its parts, in their order."""
        return tuple(dict.fromkeys(t for part in self.parts for t in part.taints))


@dataclass
class _Group:
    devices: list[DeviceFacts] = field(default_factory=list)
    sets: list[CounterSet] = field(default_factory=list)


class _Joiner:
    """Union-find over the keys that rows have in common."""

    def __init__(self) -> None:
        self._parent: dict[Key, Key] = {}

    def find(self, key: Key) -> Key:
        while (up := self._parent.setdefault(key, key)) != key:
            self._parent[key] = self._parent[up]
            key = up
        return key

    def join(self, keys: list[Key]) -> None:
        first = self.find(keys[0])
        for key in keys[1:]:
            self._parent[self.find(key)] = first


def derive_cards(
    devices: Iterable[DeviceFacts], counter_sets: Iterable[CounterSet]
) -> list[Card]:
    """Return the cards of some pools, in the order in which drivers publish them.

    Rows of the same node must be handed in together, whatever their driver.
    """
    gpus = [device for device in devices if is_gpu(device)]
    sets = [cs for cs in counter_sets if has_memory(cs.counters)]
    known = {(cs.driver, cs.pool, cs.name) for cs in sets}
    buses = _shared_buses(gpus)
    joiner = _Joiner()
    for device in gpus:
        joiner.join([*_keys(device, known), *_bus_key(device, buses)])
    groups: dict[Key, _Group] = defaultdict(_Group)
    for device in gpus:
        groups[joiner.find(_name_key(device))].devices.append(device)
    for cs in sets:
        if _belongs_to_gpus(cs, joiner, groups):
            groups[joiner.find(_set_key(cs.driver, cs.pool, cs.name))].sets.append(cs)
    return [_card(group) for group in groups.values()]


def _belongs_to_gpus(
    cs: CounterSet, joiner: _Joiner, groups: Mapping[Key, _Group]
) -> bool:
    """A counter set of memory is a card's: a device says so, or the driver's name."""
    return joiner.find(_set_key(cs.driver, cs.pool, cs.name)) in groups or (
        "gpu" in cs.driver
    )


def _bus_key(device: DeviceFacts, buses: frozenset[Key]) -> list[Key]:
    """Return what joins virtual functions to their physical one: their PCI bus."""
    key = _bus(device)
    return [key] if key in buses else []


def _bus(device: DeviceFacts) -> Key:
    bus = pci_address(device).rpartition(":")[0]
    return ("bus", _scope(device), device.driver, bus)


def _shared_buses(gpus: list[DeviceFacts]) -> frozenset[Key]:
    """Return the buses of virtual functions that have one physical function at most.

    A virtual function has an address of its own, on the bus of its physical one.
    Source: PCI Express SR-IOV; Intel's driver publishes them as type `vf`.
    """
    virtual = {_bus(d) for d in gpus if d.attribute("type") == "vf"}
    if not virtual:
        return frozenset()
    physical = Counter(
        _bus(d) for d in gpus if d.attribute("type") != "vf" and pci_address(d)
    )
    return frozenset(key for key in virtual if key[-1] and physical[key] <= 1)


def _scope(device: DeviceFacts) -> str:
    return device.node or f"{device.driver}/{device.pool}"


def _name_key(device: DeviceFacts) -> Key:
    return ("device", device.driver, device.pool, device.name)


def _set_key(driver: str, pool: str, name: str) -> Key:
    return ("counters", driver, pool, name)


def _keys(device: DeviceFacts, known: set[tuple[str, str, str]]) -> list[Key]:
    """Return what identifies the card of a row: its own name first."""
    scope = _scope(device)
    keys: list[Key] = [_name_key(device)]
    keys += [
        ("uuid", scope, value.lower())
        for name in ("uuid", "parentUUID")
        if (value := device.attribute(name))
    ]
    index = {"gpu": "index", "mig": "parentIndex"}.get(device.attribute("type"), "")
    if index and (value := device.attribute(index)):
        keys.append(("index", scope, device.driver, value))
    if address := pci_address(device):
        keys.append(("pci", scope, address))
    elif value := device.attribute("parentDeviceID"):
        keys.append(("parent", scope, device.driver, value))
    used = [
        name
        for use in device.consumes_counters
        if (name := str(use.get("counterSet", "")))
        and (
            (device.driver, device.pool, name) in known
            or has_memory(amounts(use.get("counters")))
        )
    ]
    if len(used) == 1:
        keys.append(_set_key(device.driver, device.pool, used[0]))
    return keys


def _card(group: _Group) -> Card:
    counters = group.sets[0].counters if group.sets else {}
    parts = tuple(_distinct([_part(device, counters) for device in group.devices]))
    total, at_least = _total(parts, counters)
    home: Part | CounterSet = _home(parts) or group.sets[0]
    return Card(
        node=group.devices[0].node if group.devices else group.sets[0].node,
        driver=home.driver,
        pool=home.pool,
        name=_label(parts, group.sets),
        product=_product(group.devices),
        kind=_kind(parts, counters),
        total=total,
        at_least=at_least,
        cell_count=_cell_count(parts, counters),
        counters=counters,
        parts=parts,
        double_advertised=_double_advertised(parts, counters),
        uuids=tuple(dict.fromkeys(u for d in group.devices for u in _uuids(d))),
        addresses=tuple(
            dict.fromkeys(a for d in group.devices if (a := pci_address(d)))
        ),
        topology=tuple(
            dict.fromkeys(p for d in group.devices for p in places_of(d.attributes))
        ),
    )


def _uuids(device: DeviceFacts) -> Iterator[str]:
    """Yield the UUIDs of a row's card; a partition's and a VFIO device's is another."""
    own = device.attribute("type") not in {"vfio", *PARTITION_TYPES}
    for name in ("parentUUID", *(("uuid",) if own else ())):
        if value := device.attribute(name):
            yield value.lower()


def _distinct(parts: list[Part]) -> list[Part]:
    """Drop a second row of the same name, which only a faulty pool publishes."""
    return list({(p.driver, p.pool, p.name): p for p in reversed(parts)}.values())[::-1]


def _home(parts: tuple[Part, ...]) -> Part | None:
    """Return the part that names the card: the whole first, passthrough last."""
    order = {"whole": 0, "partition": 1, "passthrough": 2}
    return min(parts, key=lambda part: order[part.role], default=None)


def _part(device: DeviceFacts, counters: Amounts) -> Part:
    uses, counter_set = _uses(device)
    memory = capacity_of(device, "memory")
    shares = capacity_of(device, "shares")
    cells = cells_of(uses) or cells_of(
        {key.rpartition("/")[2]: 1 for key in device.capacity}
    )
    return Part(
        driver=device.driver,
        pool=device.pool,
        name=device.name,
        role=_role(device, uses, counters),
        profile=device.attribute("profile") or device.attribute("partitionProfile"),
        memory=int(memory) if memory is not None else None,
        cells=cells,
        counter_set=counter_set,
        uses=uses,
        shared=device.shared,
        share_count=int(shares) if shares is not None else None,
        taints=device.taints,
    )


def _uses(device: DeviceFacts) -> tuple[Amounts, str]:
    for use in device.consumes_counters:
        counters = amounts(use.get("counters"))
        if has_memory(counters):
            return counters, str(use.get("counterSet", ""))
    return {}, ""


def _role(device: DeviceFacts, uses: Amounts, counters: Amounts) -> str:
    kind = device.attribute("type")
    if kind == "vfio":
        return "passthrough"
    if kind in PARTITION_TYPES:
        return "partition"
    of, used = counters.get("memory"), uses.get("memory")
    return "partition" if of and used is not None and used < of else "whole"


def _total(parts: tuple[Part, ...], counters: Amounts) -> tuple[int | None, bool]:
    """Return the card's bytes and whether that is only a lower bound."""
    whole = [part.memory for part in parts if part.role == "whole" and part.memory]
    if counters.get("memory"):
        whole.append(int(counters["memory"]))
    if whole:
        return max(whole), False
    pieces = [part for part in parts if part.role == "partition" and part.memory]
    if not pieces or any(part.uses for part in pieces):
        return max((p.memory or 0 for p in pieces), default=0) or None, bool(pieces)
    return sum(part.memory or 0 for part in pieces), _may_have_gaps(pieces)


def _may_have_gaps(pieces: list[Part]) -> bool:
    """Partitions need not cover their card; AMD's modes (`cpx_nps4`) always do."""
    return not all("nps" in part.profile for part in pieces)


def _kind(parts: tuple[Part, ...], counters: Amounts) -> str:
    if counters or any(part.uses for part in parts):
        return "dynamic"
    if any(part.role == "partition" for part in parts):
        return "static"
    return "shares" if any(part.shared for part in parts) else "whole"


def _cell_count(parts: tuple[Part, ...], counters: Amounts) -> int:
    indices = [*cells_of(counters), *(cell for part in parts for cell in part.cells)]
    return max(indices) + 1 if indices else 0


def _double_advertised(parts: tuple[Part, ...], counters: Amounts) -> bool:
    """A parent beside its partitions, and nothing that keeps the two apart."""
    roles = {part.role for part in parts}
    return not counters and {"whole", "partition"} <= roles


def _label(parts: tuple[Part, ...], sets: list[CounterSet]) -> str:
    whole = [part.name for part in parts if part.role == "whole"]
    if len(whole) == 1 and not sets:
        return whole[0]
    if sets:
        return _SET_SUFFIX.sub("", sets[0].name)
    names = whole or [part.name for part in parts]
    return names[0] if len(names) == 1 else re.split(r"-(?:mig|part)", names[0])[0]


def _product(devices: list[DeviceFacts]) -> str:
    ordered = sorted(devices, key=lambda d: d.attribute("type") == "vfio")
    for name in ("productName", "model", "family"):
        for device in ordered:
            if (value := device.attribute(name)) not in _NO_NAME:
                return value.replace("_", " ")
    address = next((d.attribute("pciId") for d in ordered if d.attribute("pciId")), "")
    return f"PCI {address}" if address else ""
