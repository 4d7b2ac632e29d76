"""Device rows as GPUs see them: facts, counters, exact amounts.

Source: resource.k8s.io/v1 Device and CounterSet; which rows are GPUs is told by
what NVIDIA, AMD, Intel, HAMi and the example driver publish.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import BadQuantity, parse_quantity
from inventory.domain.topology import is_near

if TYPE_CHECKING:
    from collections.abc import Mapping

# Exact: an int where there is no fraction, which is nearly always and much faster.
Number = int | Fraction
Amounts = dict[str, Number]

GPU_TYPES = frozenset(
    {"gpu", "mig", "vfio", "amdgpu", "amdgpu-partition", "hami-gpu", "vf"}
)
BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
_CELL = re.compile(r"memory-?slice-?(\d+)$", re.IGNORECASE)
_PCI_KEYS = ("pciBusID", "pcieBusID", "parentPciAddr", "pciAddr", "pciAddress")
# The last segments of every attribute key that cards are derived from, beside those
# of topology.
CARD_ATTRIBUTES = frozenset(
    {
        *_PCI_KEYS,
        *("type", "uuid", "parentUUID", "parentDeviceID", "index", "parentIndex"),
        *("productName", "model", "family", "pciId"),
        *("profile", "partitionProfile"),
    }
)


def needed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what cards are derived from: scalars as text, lists as they are."""
    found: dict[str, Any] = {}
    for key, entry in attributes.items():
        name = key.rpartition("/")[2]
        if name in CARD_ATTRIBUTES:
            found[key] = text_of(entry)
        elif is_near(name):
            found[key] = entry
    return found


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a device. Source: resource.k8s.io/v1 DeviceTaint."""

    key: str
    value: str
    effect: str
    # The name of the DeviceTaintRule that adds it, or "" where the slice says it.
    rule: str = ""

    @property
    def blocks(self) -> bool:
        """Whether a claim without tolerations is kept out."""
        return self.effect in BLOCKING_EFFECTS


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A device row, as far as cards are derived from it; keys carry their domain."""

    driver: str
    pool: str
    name: str
    node: str
    attributes: Mapping[str, Any]
    capacity: Mapping[str, Any]
    # The list of `consumesCounters`, as published.
    consumes_counters: list[dict[str, Any]]
    taints: tuple[Taint, ...] = ()
    shared: bool = False

    def attribute(self, name: str) -> str:
        """Return the driver's own attribute `name` as text, or ""."""
        return text_of(self.attributes.get(f"{self.driver}/{name}"))


@dataclass(frozen=True, slots=True)
class CounterSet:
    """A counter set of a pool. Source: resource.k8s.io/v1 CounterSet."""

    driver: str
    pool: str
    name: str
    node: str
    counters: Amounts


@lru_cache(maxsize=65_536)
def amount(text: str) -> Number | None:
    """Return a quantity as an exact number, or None where it is no quantity."""
    try:
        number = parse_quantity(text)
    except BadQuantity:
        return None
    return number.numerator if number.denominator == 1 else number


def amounts(counters: Any) -> Amounts:
    """Return {name: exact number} for {name: {"value": quantity}}; skips the rest.

    Equal counters share one dictionary, which must not be changed.
    """
    if not isinstance(counters, dict):
        return {}
    return _shared_amounts(
        tuple(
            (name, str(entry.get("value") if isinstance(entry, dict) else entry))
            for name, entry in counters.items()
        )
    )


@lru_cache(maxsize=16_384)
def _shared_amounts(entries: tuple[tuple[str, str], ...]) -> Amounts:
    found = ((name, amount(text)) for name, text in entries)
    return {name: number for name, number in found if number is not None}


def text_of(value: Any) -> str:
    """Return an attribute's scalar value as text: `{"string": "gpu"}` is "gpu"."""
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if value is None or isinstance(value, list):
        return ""
    return value if isinstance(value, str) else str(value)


def counter_sets_of(
    driver: str, pool: str, node: str, shared_counters: Any
) -> list[CounterSet]:
    """Return the counter sets of a ResourceSlice's `sharedCounters`."""
    entries = shared_counters if isinstance(shared_counters, list) else []
    return [
        CounterSet(
            driver,
            pool,
            str(entry.get("name", "")),
            node,
            amounts(entry.get("counters")),
        )
        for entry in entries
        if isinstance(entry, dict)
    ]


def is_gpu(device: DeviceFacts) -> bool:
    """Return whether a device row is a face of a GPU.

    The driver's own `type` decides where there is one; a driver without types is
    one for GPUs when its name says so.
    """
    kind = device.attribute("type")
    if kind:
        return kind in GPU_TYPES
    return "gpu" in device.driver or device.driver.startswith("gaudi.")


def capacity_of(device: DeviceFacts, name: str) -> Number | None:
    """Return a capacity by the last segment of its key, or None; 0 says nothing."""
    for key, entry in device.capacity.items():
        if key.rpartition("/")[2].lower() == name:
            value = entry.get("value") if isinstance(entry, dict) else entry
            found = amount(str(value))
            return found if found and found > 0 else None
    return None


def cells_of(counters: Amounts) -> tuple[int, ...]:
    """Return the indices of the memory slices among some counters, ascending."""
    found = [
        int(match[1])
        for name, value in counters.items()
        if value and (match := _CELL.search(name))
    ]
    return tuple(sorted(found))


def has_memory(counters: Amounts) -> bool:
    """Return whether counters are those of a card's memory."""
    return "memory" in counters or any(_CELL.search(name) for name in counters)


def pci_address(device: DeviceFacts) -> str:
    """Return the PCI address of a row's card as `0000:1b:00.0`, or ""."""
    standard = text_of(device.attributes.get("resource.kubernetes.io/pciBusID"))
    found = standard or next((v for k in _PCI_KEYS if (v := device.attribute(k))), "")
    return short_address(found)


def short_address(address: str) -> str:
    """Return a PCI address in lower case, of its domain four digits: NVML writes eight.

    A text without a colon is none, and stays as it is.
    """
    domain, colon, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if colon else domain
