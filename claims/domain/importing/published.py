"""What a cluster publishes, as repairs look things up in it."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import BadQuantity, parse_quantity

if TYPE_CHECKING:
    from fractions import Fraction

    from claims.domain.checks.world import World

Json = dict[str, Any]
ATTRIBUTES, CAPACITY = "attributes", "capacity"
_MOST_VALUES = 200
_DRIVER = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")

# Names that people use for what drivers publish under another.
_SYNONYMS = {
    "product": "productname",
    "gpuproduct": "productname",
    "model": "productname",
    "gpumodel": "productname",
    "gpumemory": "memory",
    "vram": "memory",
    "memorysize": "memory",
    "family": "architecture",
    "gpufamily": "architecture",
    "cudaversion": "cudadriverversion",
    "computecapability": "cudacomputecapability",
    "migprofile": "profile",
    "pciebusid": "pcibusid",
    "numa": "numanode",
    "pciroot": "pcieroot",
}


def plain(name: str) -> str:
    """Return a name without what people write differently: case, `-`, `_`, `.`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key is published."""

    space: str
    domain: str
    key: str

    @property
    def text(self) -> str:
        """The CEL that reads it."""
        return f'device.{self.space}["{self.domain}"].{self.key}'


@dataclass(slots=True)
class Published:
    """Keys and values of a cluster's devices, and its classes.

    Attributes:
        keys: driver → space → full key → type → values; capacities have the type
            `quantity` and their values as text.
        classes: name → body.
    """

    keys: dict[str, dict[str, dict[str, dict[str, set[str]]]]]
    classes: dict[str, Json] = field(default_factory=dict)

    def places(self, driver: str, space: str) -> list[Place]:
        """Return every key of a space that a driver publishes."""
        table = self.keys.get(driver, {}).get(space, {})
        return [Place(space, *full.rsplit("/", 1)) for full in sorted(table)]

    def has(self, driver: str, place: Place) -> bool:
        """Return whether a driver publishes exactly this."""
        table = self.keys.get(driver, {}).get(place.space, {})
        return f"{place.domain}/{place.key}" in table

    def values(self, driver: str, place: Place) -> dict[str, set[str]]:
        """Return type → values of a key."""
        table = self.keys.get(driver, {}).get(place.space, {})
        return table.get(f"{place.domain}/{place.key}", {})

    def resolve(self, driver: str, wanted: Place) -> Place | None:
        """Return the published key that a name most likely means, or None."""
        if self.has(driver, wanted):
            return wanted
        other = CAPACITY if wanted.space == ATTRIBUTES else ATTRIBUTES
        names = {plain(wanted.key)}
        names |= {_SYNONYMS[name] for name in names if name in _SYNONYMS}
        for space in (wanted.space, other):
            same = [p for p in self.places(driver, space) if plain(p.key) in names]
            same.sort(key=lambda p: (p.domain != wanted.domain, p.domain != driver))
            if same:
                return same[0]
        return None

    def nearest(self, driver: str, wanted: Place) -> list[str]:
        """Return published names that are spelt much like one."""
        known = {
            plain(place.key): place.key
            for space in (wanted.space, ATTRIBUTES, CAPACITY)
            for place in self.places(driver, space)
        }
        close = difflib.get_close_matches(plain(wanted.key), known, 3, 0.5)
        return [known[name] for name in close]

    def driver_of(self, class_name: str) -> str:
        """Return the driver of a class's devices, as far as its selectors say; or ""."""
        body = self.classes.get(class_name) or {}
        return driver_in(expressions_of(body)) or (
            class_name if class_name in self.keys else self.only_driver()
        )

    def only_driver(self) -> str:
        """Return the one driver there is, or ""."""
        return next(iter(self.keys)) if len(self.keys) == 1 else ""

    def class_like(self, name: str) -> str:
        """Return the one class that a wrong name can only mean, or ""."""
        mapped = [
            known
            for known, body in self.classes.items()
            if (body.get("spec") or {}).get("extendedResourceName") == name
        ]
        if len(mapped) == 1:
            return mapped[0]
        prefix = "deviceclass.resource.kubernetes.io/"
        if name.startswith(prefix):
            known = name.removeprefix(prefix)
            return known if known in self.classes else ""
        words = sorted(filter(None, re.split(r"[^a-z0-9]+", name.lower())))
        same = [
            known
            for known in self.classes
            if sorted(re.split(r"[^a-z0-9]+", known)) == words
        ]
        return same[0] if len(same) == 1 else ""

    def classes_near(self, name: str) -> list[str]:
        """Return classes whose names are spelt much like one."""
        return difflib.get_close_matches(name.lower(), self.classes, 2, 0.6)


def driver_in(expressions: list[str]) -> str:
    """Return the driver that selectors name, or ""."""
    found = {match for text in expressions for match in _DRIVER.findall(text)}
    return next(iter(found)) if len(found) == 1 else ""


def expressions_of(body: Json) -> list[str]:
    """Return the CEL selectors of a class, or of what asks for devices."""
    spec = body.get("spec", body)
    selectors = spec.get("selectors") if isinstance(spec, dict) else None
    texts = []
    for selector in selectors if isinstance(selectors, list) else ():
        cel = selector.get("cel") if isinstance(selector, dict) else None
        text = cel.get("expression") if isinstance(cel, dict) else None
        if isinstance(text, str):
            texts.append(text)
    return texts


def published_by(world: World) -> Published:
    """Return what a cluster's devices publish."""
    keys: dict[str, dict[str, dict[str, dict[str, set[str]]]]] = {}
    for device in world.devices.values():
        table = keys.setdefault(
            device.driver,
            {
                ATTRIBUTES: defaultdict(lambda: defaultdict(set)),
                CAPACITY: defaultdict(lambda: defaultdict(set)),
            },
        )
        for full, value in device.attributes.items():
            for kind, inner in value.items() if isinstance(value, dict) else ():
                _keep(table[ATTRIBUTES][full][kind], inner)
        for full, value in device.capacity.items():
            amount = value.get("value") if isinstance(value, dict) else value
            _keep(table[CAPACITY][full]["quantity"], amount)
    return Published(keys, world.classes())


def _keep(values: set[str], value: object) -> None:
    if len(values) < _MOST_VALUES:
        values.add(str(value))


def amounts(values: dict[str, set[str]]) -> list[Fraction]:
    """Return the quantities among a key's values, the least first."""
    found = []
    for text in values.get("quantity", ()):
        try:
            found.append(parse_quantity(text))
        except BadQuantity:
            continue
    return sorted(found)
