"""Random fleets: nodes of several shapes, as drivers publish them.

Everything comes from the generator that is passed in, so a seed is a fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.cluster.client import Object

GPU = "gpu.nvidia.com"
NIC = "nic.example.com"
V1 = "resource.k8s.io/v1"
PRODUCTS = (
    ("NVIDIA H100 80GB HBM3", "Hopper", "81559Mi"),
    ("NVIDIA A100-SXM4-40GB", "Ampere", "40960Mi"),
    ("NVIDIA L40S", "Ada Lovelace", "46068Mi"),
    ("Tesla T4", "Turing", "15360Mi"),
)
DRIVERS = ("570.86.15", "580.65.6", "580.95.5", "590.44.1")
PROFILES = (
    ("1g.10gb", 1, "9984Mi"),
    ("2g.20gb", 2, "20096Mi"),
    ("3g.40gb", 4, "40320Mi"),
)
SLOTS = 8


@dataclass(frozen=True, slots=True)
class Features:
    """What a server keeps of what is published."""

    minor: int
    shares: bool = True
    counters: bool = True
    taints: bool = True

    @property
    def everything(self) -> bool:
        """Whether nothing that fleets and claims use is dropped."""
        return self.shares and self.counters and self.taints


@dataclass(slots=True)
class Fleet:
    """Objects of a cluster, nodes by name."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    slices: list[Object] = field(default_factory=list)


def classes(features: Features) -> list[Object]:
    """Return the device classes that random claims name, good and bad ones."""
    of_driver = f'device.driver == "{GPU}"'
    kind = f'{of_driver} && device.attributes["{GPU}"].type == '
    made = {
        "gpu": [f'{kind}"gpu"'],
        "mig": [f'{kind}"mig"'],
        "any-gpu": [of_driver],
        "nic": [f'device.driver == "{NIC}"'],
        "everything": [],
        "hopper": [
            f'{kind}"gpu"',
            f'device.attributes["{GPU}"].architecture == "Hopper"',
        ],
        # Some devices lack the key, and a version is no text.
        "numa-zero": [of_driver, f'device.attributes["{GPU}"].numa == 0'],
        "bad-semver": [
            f'{of_driver} && semver(device.attributes["{GPU}"].driverVersion)'
            '.isGreaterThan(semver("580.0.0"))'
        ],
    }
    if features.shares:
        made["shared"] = [f"{of_driver} && device.allowMultipleAllocations"]
    return [
        {
            "apiVersion": V1,
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": each}} for each in texts]},
        }
        for name, texts in made.items()
    ]


def random_fleet(random: Random, features: Features) -> Fleet:
    """Return two to five nodes of random shapes, and sometimes what they all reach."""
    fleet = Fleet()
    shapes = list(_shapes(features))
    for number in range(random.randint(2, 6)):
        name = f"node-{number}"
        fleet.nodes[name] = {"zone": random.choice("ab")}
        for shape in dict.fromkeys(random.choices(shapes, k=random.choice((1, 2, 2)))):
            fleet.slices += shape(random, name, features)
    if random.random() < 0.35:
        fleet.slices += _reached_by_many(random, features)
    return fleet


Shape = Callable[[Random, str, Features], list[Object]]


def _shapes(features: Features) -> Iterator[Shape]:
    """Yield shapes, sound ones more often than those that spoil a node."""
    yield from (*[_cards] * 4, *[_two_slices] * 2, _nics, _incomplete, _moved_on)
    if features.shares:
        yield from [_shares] * 5
    if features.counters:
        yield from [_partitions] * 4
    if features.everything:
        yield _twice


def _slice(name: str, node: str, devices: list[Object], **spec: Any) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    pool |= spec.pop("pool", {})
    reach = spec.pop("reach", {"nodeName": node})
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": spec.pop("driver", GPU),
            "pool": pool,
            **reach,
            "devices": devices,
            **spec,
        },
    }


def _card(random: Random, node: str, index: int, features: Features) -> Object:
    """Return a whole card; some lack a key that others have, some are tainted."""
    product, architecture, memory = random.choice(PRODUCTS)
    attributes: Object = {
        "type": {"string": "gpu"},
        "productName": {"string": product},
        "architecture": {"string": architecture},
        "driverVersion": {"version": random.choice(DRIVERS)},
        "uuid": {"string": f"GPU-{node}-{index}"},
        "index": {"int": index},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:0{index // 2}"},
    }
    if random.random() < 0.7:
        attributes["numa"] = {"int": index // 2}
    if random.random() < 0.5:
        attributes["ecc"] = {"bool": random.random() < 0.7}
    card: Object = {
        "name": f"gpu-{index}",
        "attributes": attributes,
        "capacity": {"memory": {"value": memory}},
    }
    if features.taints and random.random() < 0.12:
        card["taints"] = [_taint(random)]
    return card


def _taint(random: Random) -> Object:
    effects = ("NoSchedule", "NoSchedule", "NoExecute")
    return {"key": f"{GPU}/health", "value": "bad", "effect": random.choice(effects)}


def _cards(random: Random, node: str, features: Features) -> list[Object]:
    return whole_cards(random, node, features, count=random.randint(2, 6))


def whole_cards(
    random: Random, node: str, features: Features, *, count: int
) -> list[Object]:
    """Return a node's whole cards, in one slice."""
    devices = [_card(random, node, each, features) for each in range(count)]
    return [_slice(f"{node}-cards", node, devices, pool={"name": f"{node}-cards"})]


def _two_slices(random: Random, node: str, features: Features) -> list[Object]:
    """Return one pool in two slices, their names in no order of their making."""
    devices = [_card(random, node, each, features) for each in range(4)]
    pool = {"name": f"{node}-split", "resourceSliceCount": 2}
    names = random.sample(("z", "a"), 2)
    return [
        _slice(f"{node}-split-{names[0]}", node, devices[:2], pool=pool),
        _slice(f"{node}-split-{names[1]}", node, devices[2:], pool=pool),
    ]


def _nics(random: Random, node: str, _features: Features) -> list[Object]:
    devices: list[Object] = [
        {
            "name": f"nic-{each}",
            "attributes": {
                "rdma": {"bool": random.random() < 0.5},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:0{each}"},
            },
        }
        for each in range(random.randint(1, 3))
    ]
    return [_slice(f"{node}-nics", node, devices, driver=NIC)]


def _incomplete(random: Random, node: str, features: Features) -> list[Object]:
    pool = {"name": f"{node}-part", "resourceSliceCount": 2}
    devices = [_card(random, node, each, features) for each in range(2)]
    return [_slice(f"{node}-part", node, devices, pool=pool)]


def _moved_on(random: Random, node: str, features: Features) -> list[Object]:
    """Return a pool of which a slice of the generation before is still there."""
    old = [_card(random, node, each, features) for each in range(3)]
    new = [_card(random, node, each, features) for each in range(2)]
    name = f"{node}-moved"
    return [
        _slice(f"{name}-1", node, old, pool={"name": name}),
        _slice(f"{name}-2", node, new, pool={"name": name, "generation": 2}),
    ]


def _twice(random: Random, node: str, features: Features) -> list[Object]:
    """Return a pool that names one device in two slices."""
    pool = {"name": f"{node}-twice", "resourceSliceCount": 2}
    card = _card(random, node, 0, features)
    return [_slice(f"{node}-twice-{each}", node, [card], pool=pool) for each in "ab"]


def _shares(random: Random, node: str, features: Features) -> list[Object]:
    """Return cards that many may use; policies of every kind, and none."""
    devices = []
    for index in range(random.randint(1, 3)):
        card = _card(random, node, index, features)
        total = card["capacity"]["memory"]["value"]
        card["allowMultipleAllocations"] = True
        card["capacity"] = {
            "memory": {"value": total} | _memory_policy(random),
            "cores": {"value": "100"} | _cores_policy(random),
        }
        devices.append(card)
    return [_slice(f"{node}-shares", node, devices, pool={"name": f"{node}-shares"})]


def _memory_policy(random: Random) -> Object:
    valid = {"min": "1Gi", "step": random.choice(("1Gi", "2Gi", "5Gi"))}
    if random.random() < 0.5:
        valid["max"] = random.choice(("9Gi", "13Gi"))
        step, most = int(valid["step"][:-2]), int(valid["max"][:-2])
        valid["max"] = f"{1 + (most - 1) // step * step}Gi"
    policy = {"default": "1Gi", "validRange": valid}
    return random.choice(({}, {"requestPolicy": policy}, {"requestPolicy": policy}))


def _cores_policy(random: Random) -> Object:
    values = {"default": "25", "validValues": ["10", "25", "50", "100"]}
    most = {"default": "100"}
    return random.choice(({}, {"requestPolicy": values}, {"requestPolicy": most}))


def _partitions(random: Random, node: str, features: Features) -> list[Object]:
    """Return cards in dynamic MIG: whole, or in profiles at their placements."""
    cards = range(random.randint(1, 2))
    sets = [_counter_set(index) for index in cards]
    devices = [list(_profiles(random, node, index)) for index in cards]
    name = f"{node}-mig"
    if features.minor < 35:
        flat = [each for part in devices for each in part]
        return [_slice(name, node, flat, sharedCounters=sets, pool={"name": name})]
    pool = {"name": name, "resourceSliceCount": len(sets) + 1}
    slices = [_slice(f"{name}-0", node, [], sharedCounters=sets, pool=pool)]
    del slices[0]["spec"]["devices"]
    for index, part in enumerate(devices):
        slices.append(_slice(f"{name}-{index + 1}", node, part, pool=pool))
    return slices


def _counter_set(index: int) -> Object:
    counters = {f"memory-slice-{slot}": {"value": "1"} for slot in range(SLOTS)}
    return {"name": f"gpu-{index}-counters", "counters": counters}


def _profiles(random: Random, node: str, index: int) -> Iterator[Object]:
    yield _partition(node, index, "", range(SLOTS), "81152Mi")
    for profile, size, memory in PROFILES:
        for start in range(0, SLOTS - (size == 1), size):
            if random.random() < 0.8:
                yield _partition(
                    node, index, profile, range(start, start + size), memory
                )


def _partition(
    node: str, index: int, profile: str, slots: range, memory: str
) -> Object:
    parent = f"GPU-{node}-mig-{index}"
    attributes: Object = {
        "type": {"string": "mig" if profile else "gpu"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "architecture": {"string": "Hopper"},
        "driverVersion": {"version": "580.95.5"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:0{index}"},
    }
    if profile:
        attributes |= {
            "profile": {"string": profile},
            "parentUUID": {"string": parent},
        }
    else:
        attributes |= {"uuid": {"string": parent}, "index": {"int": index}}
    short = profile.replace(".", "")
    return {
        "name": f"gpu-{index}" + (f"-mig-{short}-{slots[0]}" if profile else ""),
        "attributes": attributes,
        "capacity": {"memory": {"value": memory}},
        "consumesCounters": [
            {
                "counterSet": f"gpu-{index}-counters",
                "counters": {f"memory-slice-{slot}": {"value": "1"} for slot in slots},
            }
        ],
    }


def _reached_by_many(random: Random, features: Features) -> list[Object]:
    """Return cards that all nodes reach, or those of one zone, or each its own."""
    devices = [_card(random, "fabric", each, features) for each in range(2)]
    if features.counters and random.random() < 0.4:
        for each in devices:
            each["nodeName"] = random.choice(("node-0", "node-1"))
        reach: Object = {"perDeviceNodeSelection": True}
    elif random.random() < 0.5:
        reach = {"allNodes": True}
    else:
        zone = {"key": "zone", "operator": "In", "values": ["a"]}
        terms = [{"matchExpressions": [zone]}]
        reach = {"nodeSelector": {"nodeSelectorTerms": terms}}
    return [_slice("fabric", "fabric", devices, reach=reach)]
