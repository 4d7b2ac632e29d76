"""The devices of a cluster, and one of them with everything that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Concat

from inventory.domain.fragmentation import Fragmentation, fragmentation_of
from inventory.domain.gpus import Taint, amount, text_of
from inventory.domain.holds import Hold
from inventory.domain.quantity import GIB
from inventory.models import Allocation, Device, Pool
from inventory.queries.card_detail import Neighbours, neighbours_of
from inventory.queries.cards import fleet_of
from inventory.queries.holdings import Holding, holdings
from inventory.queries.meters import MeterPage, meters_of
from inventory.queries.rows import (
    CardRow,
    Holder,
    PlacementRow,
    card_row,
    hidden_watchers,
    holder_of,
    placement_rows,
)

if TYPE_CHECKING:
    import datetime as dt

    from django.db.models import QuerySet

    from inventory.domain.fleet import Fleet
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

DEVICES_PER_PAGE = 100
_TYPES = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions")
DeviceKey = tuple[str, str, str]
DeviceRowKey = tuple[str, str, str, int]
# The order of devices; the index over it leads to any page at once.
KEY = ("driver", "pool", "name", "pk")
KEY_TYPES = (str, str, str, int)


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """What a person wants to see of a cluster's devices."""

    text: str = ""
    driver: str = ""
    pool: str = ""
    node: str = ""
    kind: str = ""

    @property
    def active(self) -> bool:
        """Whether it leaves anything out."""
        return self != DeviceFilter()


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device of the list, as a person may see it."""

    device: Device
    kind: str
    product: str
    state: str  # free | in-use | blocked | unavailable
    taints: tuple[Taint, ...]
    holders: tuple[Holder, ...]
    hidden: int
    # Of the hidden: administrative access, which uses nothing.
    hidden_watchers: int


@dataclass(frozen=True, slots=True)
class DevicePage:
    """A page of devices, and where the next one begins."""

    rows: list[DeviceRow]
    following: str | None
    drivers: list[str]
    kinds: list[str]
    count: int
    # Whether all are counted: no pool lacks slices.
    complete: bool
    revision: int

    @property
    def is_lacking(self) -> bool:
        """Whether there may be more devices than are counted."""
        return not self.complete


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """An attribute: its key with its domain, its type and its value as text."""

    key: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """A capacity, what is left of it, and the policy that rounds requests."""

    key: str
    value: str
    gib: str
    default: str
    least: str
    most: str
    step: str
    choices: str


@dataclass(frozen=True, slots=True)
class CounterRow:
    """A counter that the device consumes when it is allocated."""

    counter_set: str
    counter: str
    value: str


@dataclass(frozen=True, slots=True)
class DeviceDetail:
    """One device with everything that is known of it."""

    device: Device
    copies: int
    pool: Pool | None
    attributes: list[AttributeRow]
    capacity: list[CapacityRow]
    counters: list[CounterRow]
    taints: tuple[Taint, ...]
    # Of the whole card where it is part of one.
    holdings: list[Holding]
    fits: Fragmentation | None
    card: CardRow | None
    placements: list[PlacementRow]
    neighbours: list[Neighbours]
    meters: MeterPage | None
    state: str
    revision: int


def device_detail(
    cluster: Cluster, viewer: Viewer, key: DeviceKey, now: dt.datetime
) -> DeviceDetail | None:
    """Return a device by driver, pool and name, or None; four queries.

    One more where a Prometheus is set.

    A device that no slice publishes now, but that a claim still holds, is none.
    """
    driver, pool, name = key
    rows = list(
        Device.objects.filter(cluster=cluster, driver=driver, pool=pool, name=name)
    )
    if not rows:
        return None
    fleet = fleet_of(cluster)
    device, occupancy = rows[0], fleet.occupancy(key)
    holds = holds_of(cluster, [device]).get(key, [])
    meters = meters_of(cluster, now)
    return DeviceDetail(
        device=device,
        copies=len(rows),
        pool=Pool.objects.filter(cluster=cluster, driver=driver, name=pool).first(),
        attributes=[attribute_row(*item) for item in sorted(device.attributes.items())],
        capacity=[capacity_row(*item) for item in sorted(device.capacity.items())],
        counters=list(_counters(device)),
        taints=_taints(device, fleet),
        holdings=holdings(cluster, occupancy.holds if occupancy else holds, viewer),
        fits=fragmentation_of([occupancy], {}) if occupancy else None,
        card=card_row(occupancy, viewer, meters) if occupancy else None,
        placements=placement_rows(occupancy, viewer) if occupancy else [],
        neighbours=neighbours_of(fleet, occupancy.card) if occupancy else [],
        meters=meters if occupancy else None,
        state=_state(device, fleet, holds),
        revision=fleet.revision,
    )


def device_row_of(cluster: Cluster, viewer: Viewer, key: DeviceKey) -> DeviceRow | None:
    """Return a device as the list shows it, or None; two queries."""
    driver, pool, name = key
    device = Device.objects.filter(
        cluster=cluster, driver=driver, pool=pool, name=name
    ).first()
    if device is None:
        return None
    return device_row(device, fleet_of(cluster), holds_of(cluster, [device]), viewer)


def filtered(cluster: Cluster, wanted: DeviceFilter) -> QuerySet[Device]:
    """Return the devices of a cluster that a filter leaves."""
    rows = Device.objects.filter(cluster=cluster)
    exact = {"driver": wanted.driver, "pool": wanted.pool, "node_name": wanted.node}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if wanted.kind:
        own = Func(
            F("attributes"),
            Concat(F("driver"), Value("/type")),
            template="(%(expressions)s ->> 'string')",
            arg_joiner=" -> ",
            output_field=TextField(),
        )
        rows = rows.alias(own_type=own).filter(own_type=wanted.kind)
    if wanted.text:
        rows = rows.filter(
            Q(name__icontains=wanted.text)
            | Q(pool__icontains=wanted.text)
            | Q(node_name__icontains=wanted.text)
        )
    return rows


def key_of(device: Device) -> DeviceRowKey:
    """Return the place of a device among the others."""
    return device.driver, device.pool, device.name, device.pk


def holds_of(cluster: Cluster, devices: list[Device]) -> dict[DeviceKey, list[Hold]]:
    """Return what is held of some devices; one query."""
    rows = Allocation.objects.filter(
        cluster=cluster,
        pool__in={device.pool for device in devices},
        device__in={device.name for device in devices},
    ).order_by("claim_namespace", "claim_name", "pk")
    found: dict[DeviceKey, list[Hold]] = {}
    for row in rows:
        key = row.driver, row.pool, row.device
        consumed = tuple((str(k), str(v)) for k, v in row.consumed_capacity.items())
        found.setdefault(key, []).append(
            Hold(
                row.claim_namespace,
                row.claim_name,
                row.device_request,
                *key,
                row.share_id,
                consumed,
                row.admin_access,
            )
        )
    return found


def device_row(
    device: Device, fleet: Fleet, holds: dict[DeviceKey, list[Hold]], viewer: Viewer
) -> DeviceRow:
    """Return a device as a person may see it; no query."""
    held = holds.get((device.driver, device.pool, device.name), [])
    holders = [holder_of(hold, viewer) for hold in held]
    own = {
        key.partition("/")[2]: value
        for key, value in device.attributes.items()
        if key.startswith(device.driver + "/")
    }
    return DeviceRow(
        device=device,
        kind=text_of(own.get("type")),
        product=text_of(own.get("productName")) or text_of(own.get("model")),
        state=_state(device, fleet, held),
        taints=_taints(device, fleet),
        holders=tuple(holder for holder in holders if holder.named),
        hidden=sum(not holder.named for holder in holders),
        hidden_watchers=hidden_watchers(holders),
    )


def _state(device: Device, fleet: Fleet, holds: list[Hold]) -> str:
    key = device.driver, device.pool, device.name
    occupancy = fleet.occupancy(key)
    if occupancy:
        state = occupancy.state_of(*key)
        return {"possible": "free", "taken": "in-use"}.get(state, state)
    if any(not hold.admin for hold in holds):
        return "in-use"
    return "free" if fleet.is_free(key) else "unavailable"


def _taints(device: Device, fleet: Fleet) -> tuple[Taint, ...]:
    key = device.driver, device.pool, device.name
    own = [
        Taint(str(t.get("key", "")), str(t.get("value") or ""), str(t.get("effect")))
        for t in device.taints
    ]
    return (*own, *(rule.taint for rule in fleet.rules if rule.selects(*key)))


def attribute_row(key: str, entry: Any) -> AttributeRow:
    """Return an attribute with the type that its driver says, or that JSON says."""
    if isinstance(entry, dict) and len(entry) == 1 and next(iter(entry)) in _TYPES:
        kind, value = next(iter(entry.items()))
        return AttributeRow(key, kind, _text(value))
    return AttributeRow(key, "", _text(entry))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)


def capacity_row(key: str, entry: Any) -> CapacityRow:
    """Return a capacity; memory and other byte counts in GiB, too."""
    entry = entry if isinstance(entry, dict) else {"value": entry}
    policy = entry.get("requestPolicy")
    policy = policy if isinstance(policy, dict) else {}
    span = policy.get("validRange")
    span = span if isinstance(span, dict) else {}
    value = str(entry.get("value", ""))
    return CapacityRow(
        key=key,
        value=value,
        gib=_gib(value),
        default=str(policy.get("default", "")),
        least=str(span.get("min", "")),
        most=str(span.get("max", "")),
        step=str(span.get("step", "")),
        choices=", ".join(map(str, policy.get("validValues") or [])),
    )


def _gib(quantity: str) -> str:
    number = amount(quantity)
    if number is None or number < 2**26 or not quantity.endswith("i"):
        return ""
    return f"{float(number) / GIB:,.1f} GiB"


def _counters(device: Device) -> list[CounterRow]:
    rows = []
    for use in device.consumes_counters:
        counters = use.get("counters")
        for name, entry in sorted((counters or {}).items()):
            value = entry.get("value") if isinstance(entry, dict) else entry
            rows.append(CounterRow(str(use.get("counterSet", "")), name, str(value)))
    return rows
