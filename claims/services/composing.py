"""What a cluster offers to a composer: classes, capacity keys, attributes, presets.

Which keys the devices of a class publish is asked of the engine, since only
evaluation tells which devices a class selects.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Max
from django.utils.translation import gettext as _

from claims.domain.checks.capacity import consumed, quantity_text
from claims.domain.draft import (
    DISTINCT,
    FIRST_AVAILABLE,
    AlternativeDraft,
    ConstraintDraft,
    Draft,
    RequestDraft,
)
from claims.domain.reading import read
from claims.services.catalogue import binding_conditions, binding_within
from inventory.domain.quantity import BadQuantity, parse_quantity
from inventory.models import KubeObject
from inventory.services.engines import engine_for
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.domain.reading import Reading
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster
    from portal.accounts.models import User

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOMAIN = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?\Z")

Keys = dict[str, tuple[dict[str, Any] | None, ...]]


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """A capacity key as a driver's slices publish it, with each sharing policy."""

    driver: str
    key: str
    policies: tuple[dict[str, Any] | None, ...]


@dataclass(frozen=True, slots=True)
class CapacityOffer:
    """A capacity key of a class, and what is known of it, in words.

    Attributes:
        is_shared: some device gives it away by the amount.
        policies: by which it is given; None for a device that gives all of it.
    """

    key: str
    hints: tuple[str, ...]
    is_shared: bool
    policies: tuple[dict[str, Any] | None, ...] = ()

    def given_for(self, asked: str) -> tuple[str, ...]:
        """Return what a request is given where policies round it; () where none does."""
        try:
            wanted = parse_quantity(asked)
        except BadQuantity:
            return ()
        known = [{"requestPolicy": each} for each in self.policies if each]
        given = [consumed(wanted, each) for each in known]
        texts = [quantity_text(each) for each in given if each not in (None, wanted)]
        return tuple(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True)
class Offer:
    """What the devices of one class publish.

    Attributes:
        binding: conditions that some of them must meet once they are allocated.
    """

    capacity: tuple[CapacityOffer, ...]
    binding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offers:
    """What the composer offers of a cluster.

    Attributes:
        classes: DeviceClass name → selectors of the class.
        by_class: what was asked for, class by class.
        attributes: full attribute names that any device publishes, sorted.
        problem: a sentence where the engine could not say.
    """

    classes: dict[str, tuple[str, ...]]
    by_class: dict[str, Offer] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    problem: str = ""


def read_for(user: User, cluster: Cluster, draft: Draft) -> Reading:
    """Read a draft with this person's namespaces and this cluster's classes."""
    return read(
        draft,
        namespaces=namespaces_of(user, cluster.name),
        classes=classes_of(cluster),
    )


def classes_of(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Return each DeviceClass's CEL selectors, by name; one query."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="DeviceClass", deleted_at=None
    ).order_by("name")
    return {
        name: tuple(_expressions(body))
        for name, body in rows.values_list("name", "body")
    }


def _expressions(body: dict[str, Any]) -> Iterable[str]:
    for selector in (body.get("spec") or {}).get("selectors") or ():
        if expression := (selector.get("cel") or {}).get("expression"):
            yield expression


def offers_of(cluster: Cluster, wanted: Iterable[str]) -> Offers:
    """Return what a cluster offers, with capacity keys for the `wanted` classes."""
    classes = classes_of(cluster)
    published = _published(cluster)
    by_class: dict[str, Offer] = {}
    problem = ""
    try:
        engine = engine_for(cluster)
        for name in sorted(set(wanted) & classes.keys()):
            if name not in published.by_class:
                keys = _keys_within(engine, classes[name], published.capacity)
                published.by_class[name] = keys
            binding = binding_within(engine, classes[name], published.binding)
            by_class[name] = replace(_offer(published.by_class[name]), binding=binding)
    except PortalError as error:
        problem = error.message
    return Offers(classes, by_class, published.attributes, problem)


@dataclass(frozen=True, slots=True)
class _Published:
    """What a cluster's slices publish at one moment; `by_class` fills as it is asked."""

    capacity: tuple[PublishedKey, ...]
    attributes: tuple[str, ...]
    binding: dict[str, tuple[str, ...]]
    by_class: dict[str, Keys]


# One entry a cluster and process, of the newest slices and classes seen.
_SEEN: dict[tuple[int, object], tuple[int | None, _Published]] = {}


def _published(cluster: Cluster) -> _Published:
    """Return what is published, read again only after slices or classes changed."""
    newest = KubeObject.objects.filter(
        cluster=cluster, kind__in=["DeviceClass", "ResourceSlice"]
    ).aggregate(newest=Max("revision"))["newest"]
    place = (cluster.pk, cluster.created_at)
    seen = _SEEN.get(place)
    if seen is None or seen[0] != newest:
        found = _Published(
            published_capacity(cluster),
            attribute_names(cluster),
            binding_conditions(cluster),
            {},
        )
        seen = _SEEN[place] = (newest, found)
    return seen[1]


def _keys_within(
    engine: Engine, within: tuple[str, ...], published: tuple[PublishedKey, ...]
) -> Keys:
    """Return the capacity keys, with their policies, of the devices of a class."""
    kept: Keys = {}
    for each in published:
        if not (has := _has_key(each)) or not _some_device(engine, within, has):
            continue
        shared = f"device.allowMultipleAllocations && {has}"
        known = any(each.policies) and _some_device(engine, within, shared)
        policies = each.policies if known else (None,)
        kept[each.key] = (*kept.get(each.key, ()), *policies)
    return kept


def _offer(keys: Keys) -> Offer:
    return Offer(
        tuple(
            CapacityOffer(key, _hints(policies), any(policies), policies)
            for key, policies in keys.items()
        )
    )


def _has_key(each: PublishedKey) -> str:
    """Return the CEL that says whether a device has this key, or "" for an odd one."""
    domain, slash, identifier = each.key.rpartition("/")
    domain = domain if slash else each.driver
    if not (_IDENTIFIER.match(identifier) and _DOMAIN.match(domain)):
        return ""
    return (
        f'device.driver == "{each.driver}" &&'
        f' "{identifier}" in device.capacity["{domain}"]'
    )


def _some_device(engine: Engine, within: tuple[str, ...], expression: str) -> bool:
    """Return whether the expression holds for a device of the class."""
    answer = engine.evaluate([expression], within=within)
    return answer.devices is not None and answer.devices.match > 0


def published_capacity(cluster: Cluster) -> tuple[PublishedKey, ...]:
    """Return every capacity key that is published, as it is written; one query.

    Requests match keys literally, so they are read from the slices themselves.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PUBLISHED, [cluster.pk])
        rows = cursor.fetchall()
    return tuple(
        PublishedKey(driver, key, tuple(json.loads(policies)))
        for driver, key, policies in rows
    )


_PUBLISHED = """
SELECT body->'spec'->>'driver', capacity.key,
       jsonb_agg(DISTINCT capacity.value->'requestPolicy')
FROM inventory_kubeobject,
     jsonb_array_elements(CASE jsonb_typeof(body->'spec'->'devices')
         WHEN 'array' THEN body->'spec'->'devices' ELSE '[]' END) AS device,
     jsonb_each(CASE jsonb_typeof(device->'capacity')
         WHEN 'object' THEN device->'capacity' ELSE '{}' END) AS capacity
WHERE cluster_id = %s AND kind = 'ResourceSlice' AND deleted_at IS NULL
      AND body->'spec'->>'driver' IS NOT NULL
GROUP BY 1, 2 ORDER BY 1, 2
"""


def attribute_names(cluster: Cluster) -> tuple[str, ...]:
    """Return the full names of every attribute that a device publishes, sorted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_object_keys(attributes) FROM inventory_device"
            " WHERE cluster_id = %s ORDER BY 1 LIMIT 500",
            [cluster.pk],
        )
        return tuple(name for (name,) in cursor.fetchall())


def _hints(policies: Iterable[dict[str, Any] | None]) -> tuple[str, ...]:
    """Say what the sharing policies of a key mean for a request, in a few words."""
    known = [policy for policy in policies if isinstance(policy, dict)]
    if not known:
        return (_("not shared by amount: at least this much on one device"),)
    hints = [_("default %s") % _some(policy.get("default") for policy in known)]
    ranges = [each for each in (p.get("validRange") for p in known) if each]
    if ranges:
        least = _some(each.get("min") for each in ranges)
        most = _some(each.get("max") for each in ranges)
        hints.append(_("%(least)s to %(most)s") % {"least": least, "most": most})
        if any(each.get("step") for each in ranges):
            hints.append(_("step %s") % _some(each.get("step") for each in ranges))
    values = [v for policy in known for v in policy.get("validValues") or ()]
    if values:
        hints.append(_("one of %s") % ", ".join(dict.fromkeys(map(str, values))))
    return tuple(hints)


def _some(values: Iterable[object]) -> str:
    """Return up to three different values, and an ellipsis for more."""
    different = list(dict.fromkeys(str(value) for value in values if value is not None))
    shown = [*different[:3], "…"] if len(different) > 3 else different
    return _(" or ").join(shown) or _("none")


def preset(name: str, *, namespace: str, classes: Iterable[str]) -> Draft:
    """Return the draft of a preset, or an empty form for an unknown name."""
    known = list(classes)
    if name == "hopper-shares":
        return _hopper_shares(namespace)
    first = "gpu.nvidia.com" if "gpu.nvidia.com" in known else next(iter(known), "")
    request = RequestDraft("gpus", alternatives=(AlternativeDraft(device_class=first),))
    return Draft(namespace=namespace, requests=(request,))


def _hopper_shares(namespace: str) -> Draft:
    shares = AlternativeDraft(
        name="hopper-shares",
        device_class="gpu.nvidia.com",
        count="2",
        selectors=(
            "device.allowMultipleAllocations &&\n"
            'device.attributes["gpu.nvidia.com"].architecture == "Hopper" &&\n'
            'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("79Gi")) >= 0',
        ),
        capacity=(("memory", "16Gi"),),
    )
    mig = AlternativeDraft(
        name="mig-fallback",
        device_class="mig.nvidia.com",
        count="2",
        selectors=('device.attributes["gpu.nvidia.com"].profile == "2g.20gb"',),
    )
    return Draft(
        namespace=namespace,
        name="llm-inference-gpu-slices",
        requests=(RequestDraft("gpus", FIRST_AVAILABLE, (shares, mig)),),
        constraints=(
            ConstraintDraft(DISTINCT, "gpu.nvidia.com/uuid", ("0/0",)),
            ConstraintDraft(DISTINCT, "gpu.nvidia.com/parentUUID", ("0/1",)),
        ),
    )
