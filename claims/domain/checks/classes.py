"""DeviceClasses: selectors that break their users, mixed types, clashing names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.claims import dropped
from claims.domain.checks.findings import Finding, ObjectFinding
from claims.domain.checks.selectors import judge
from claims.domain.checks.world import name_of
from inventory.domain.cards import PARTITION_TYPES
from inventory.domain.classes import clashes, parse_class
from inventory.domain.gpus import GPU_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.facts import AskFacts
    from claims.domain.checks.world import World

Json = dict[str, Any]

LONGEST_RESOURCE = 63
# A quota names it behind `requests.`, and both together have 253 characters.
LONGEST_DOMAIN = 253 - len("requests.")
# What a device is, by the `type` that its driver publishes.
_TYPES = GPU_TYPES - {"hami-gpu"}


def device_class_findings(
    body: Json, facts: AskFacts, world: World
) -> Iterator[Finding]:
    """Yield what is wrong with a DeviceClass.

    Args:
        body: the class.
        facts: of its selectors over all devices; `of_class` are its matches.
        world: the cluster, with this class in it.
    """
    everything = frozenset(world.devices)
    for i, selector in enumerate(facts.selectors):
        yield from judge(selector, everything, world, facts.selectors[:i])
    yield from _mixed(facts, world)
    extended = (body.get("spec") or {}).get("extendedResourceName")
    if extended and "DRAExtendedResource" not in world.gates:
        yield dropped("spec.extendedResourceName", "DRAExtendedResource", world)
    elif extended:
        yield from _extended_name(str(extended))


def _extended_name(name: str) -> Iterator[Finding]:
    """Yield a name that is too long; Source: k8s.io/component-helpers IsExtendedResourceName."""
    domain, _slash, last = name.rpartition("/")
    for part, limit in ((last, LONGEST_RESOURCE), (domain, LONGEST_DOMAIN)):
        if len(part) > limit:
            values = {"name": part, "length": len(part), "limit": limit}
            yield Finding("name.too_long", "spec.extendedResourceName", values)
            return


def types_of(devices: frozenset[str], world: World) -> set[str]:
    """Return of which types these devices are, such as gpu, mig and vfio."""
    found = set()
    for device_id in devices:
        device = world.devices[device_id]
        value = device.attributes.get(f"{device.driver}/type") or {}
        found.add(str(value.get("string", "")))
    return found & _TYPES


def _role(device_type: str) -> str:
    """Return whether a type is that of a partition, of passthrough, or of whole cards."""
    if device_type in PARTITION_TYPES:
        return "partition"
    return "passthrough" if device_type == "vfio" else "whole"


def _mixed(facts: AskFacts, world: World) -> Iterator[Finding]:
    types = types_of(facts.of_class, world)
    if len({_role(each) for each in types}) > 1:
        values = {"types": ", ".join(sorted(types))}
        yield Finding("class.mixed_types", "spec.selectors", values)


def clash_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield classes that map one extended resource, and which of them wins."""
    if "DRAExtendedResource" not in world.gates:
        return
    bodies = world.classes()
    classes = [parse_class(name, body) for name, body in bodies.items()]
    for resource, rivals in clashes(classes).items():
        names = sorted(each.name for each in rivals)
        values = {
            "resource": resource,
            "names": ", ".join(names),
            "winner": name_of(winner([bodies[name] for name in names], world.minor)),
        }
        finding = Finding("class.extended_clash", "spec.extendedResourceName", values)
        for name in names:
            yield ObjectFinding("DeviceClass", "", name, finding)


def winner(classes: list[Json], minor: int) -> Json:
    """Return the class that serves an extended resource.

    Source: k8s.io/dynamic-resource-allocation deviceclass/extendedresourcecache:
    from 1.35 the newest, then the lower name; before, the last listed.
    """
    by_name = sorted(classes, key=name_of)
    if minor < 35:
        return by_name[-1]
    return max(
        by_name,
        key=lambda body: str(
            (body.get("metadata") or {}).get("creationTimestamp") or ""
        ),
    )
