"""Check manifests against a cluster: world from Postgres, facts from the engine."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from claims.domain.checks import (
    admin,
    availability,
    capacity,
    classes,
    objects,
    queueing,
    satisfying,
)
from claims.domain.checks import claims as shapes
from claims.domain.checks import quota as quotas
from claims.domain.checks import selectors as expressions
from claims.domain.checks.asks import asked_of
from claims.domain.checks.facts import AskFacts, Facts
from claims.domain.checks.findings import Finding, ObjectFinding, most_specific
from claims.domain.checks.immutable import immutable_findings
from claims.domain.checks.shape import name_findings, shape_findings
from claims.domain.checks.world import (
    World,
    build_world,
    changed_world,
    expressions_of,
    name_of,
    namespace_of,
)
from claims.domain.preview import claim_of
from claims.services.filed import FILE_SECONDS, has_preview, identity_of
from claims.services.preview import budget_until
from claims.services.preview import preview as ask_preview
from claims.services.selector_facts import UNTRIED, proven, selector_facts
from inventory.domain.gates import supported_minor
from inventory.gateways.engine import EngineRefused
from inventory.models import KubeObject
from inventory.services.engines import engine_for, gates_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.preview import Preview
    from claims.services.filed import Filed
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster

Json = dict[str, Any]


# What the engine refuses for is the claim, and nothing in the cluster.
_OF_THE_CLAIM = frozenset({"body", "claims"})


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """One item of a file: what was found, and what the scheduler would do."""

    item: Json
    findings: list[Finding]
    preview: Preview | None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A world as this process last built it: of which revision, version and gates."""

    revision: int
    setting: tuple[int, tuple[str, ...]]
    world: World


# Fixes are tried for so long for one item; what the last began may end after it.
TRIES_SECONDS = 3.0
WORLDS_KEPT = 4
_worlds: OrderedDict[tuple[int, datetime], _Kept] = OrderedDict()


def world_of(cluster: Cluster, overlay: Iterable[Json] = ()) -> World:
    """Return a cluster as checks see it, with objects laid over it.

    Where the revision moved since the last time, one query for the objects that
    changed since; what did not change is not read again.
    """
    world = _kept_world(cluster)
    return changed_world(
        world, [((str(b.get("kind")), namespace_of(b), name_of(b)), b) for b in overlay]
    )


def _kept_world(cluster: Cluster) -> World:
    key = (cluster.pk, cluster.created_at)
    setting = (supported_minor(cluster.kubernetes_version), gates_of(cluster))
    kept = _worlds.get(key)
    if kept and (kept.setting != setting or kept.revision > cluster.revision):
        kept = None
    if kept and kept.revision == cluster.revision:
        return kept.world
    since = kept.revision if kept else 0
    world = kept.world if kept else build_world([], minor=setting[0], gates=setting[1])
    world = changed_world(world, _changes_since(cluster, since))
    _worlds[key] = _Kept(cluster.revision, setting, world)
    _worlds.move_to_end(key)
    while len(_worlds) > WORLDS_KEPT:
        _worlds.popitem(last=False)
    return world


def _changes_since(
    cluster: Cluster, since: int
) -> list[tuple[tuple[str, str, str], Json | None]]:
    """Return what changed after a revision, tombstones as None; after 0 what is there."""
    rows = KubeObject.objects.filter(cluster=cluster, revision__gt=since)
    if not since:
        rows = rows.filter(deleted_at=None)
    return [
        ((kind, namespace, name), None if gone else {**body, "kind": kind})
        for kind, namespace, name, body, gone in rows.values_list(
            "kind", "namespace", "name", "body", "deleted_at"
        )
    ]


def check_file(
    cluster: Cluster, filed: Filed, *, seconds: float = FILE_SECONDS
) -> tuple[list[CheckedItem], list[ObjectFinding]]:
    """Return each item of a file checked, and findings on all other objects.

    Items that are not reached within so many seconds are undecided, and say so.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    checker = Checker(cluster, filed.overlay)
    about = [
        *objects.cluster_findings(checker.world),
        *objects.dropped_of_slices(filed.overlay, checker.world),
    ]
    items: list[CheckedItem] = []
    ends = time.monotonic() + seconds
    for i, item in enumerate(filed.items):
        if time.monotonic() >= ends:
            items.append(_unreached(item))
            continue
        same = [other for other in filed.items if _key(other) == _key(item)]
        earlier = [other for other in filed.items[:i] if _key(other) == _key(item)]
        mine = [found.finding for found in about if _key_of(found) == _key(item)]
        if item["kind"] == "ResourceClaim":
            mine += [found.finding for found in objects.claim_findings([item])]
        budget = budget_until(ends)
        standing = same[0] if len(same) > 1 else None
        items.append(
            checker.check(
                item, earlier=earlier, mine=mine, budget=budget, standing=standing
            )
        )
    named = {_key(item) for item in filed.items}
    return items, [found for found in about if _key_of(found) not in named]


def _unreached(item: Json) -> CheckedItem:
    late = Finding("preview.budget", "spec", {}, "late")
    return CheckedItem(item, [late], None)


def _key(item: Json) -> tuple[str, str, str]:
    identity = identity_of(item)
    return identity["kind"], identity["namespace"], identity["name"]


def _key_of(found: ObjectFinding) -> tuple[str, str, str]:
    return found.kind, found.namespace, found.name


class Checker:
    """Checks manifests against one cluster, its world read once."""

    def __init__(
        self,
        cluster: Cluster,
        overlay: Iterable[Json] = (),
        *,
        previews: bool = True,
    ) -> None:
        """Read a cluster; without previews, what only they show is not found."""
        self.cluster = cluster
        self.previews = previews
        self.overlay = list(overlay)
        self.world = world_of(cluster, self.overlay)
        self.engine: Engine = engine_for(cluster, overlay=self.overlay)
        self._of_classes: dict[str, AskFacts] = {}

    def check(
        self,
        item: Json,
        *,
        earlier: list[Json],
        mine: list[Finding],
        budget: float | None = None,
        standing: Json | None = None,
    ) -> CheckedItem:
        """Return one item checked.

        Args:
            item: a ResourceClaim, ResourceClaimTemplate or DeviceClass.
            earlier: objects of its name that stand before it.
            mine: findings about the object of that name.
            budget: seconds for the preview's search; the setting where None.
            standing: what stands of that name, where the cluster may not say it.
        """
        if item["kind"] == "DeviceClass":
            facts = self._class_facts(item)
            found = classes.device_class_findings(item, facts, self.world)
            findings = most_specific([*mine, *name_findings(item), *found])
            asked_about = replace(facts, of_class=frozenset(self.world.devices))
            return CheckedItem(item, self._proven(findings, [asked_about]), None)
        broken = [*name_findings(item), *shape_findings(item)]
        if any(finding.code == "claim.invalid" for finding in broken):
            return CheckedItem(item, most_specific([*mine, *broken]), None)
        asked = asked_of(item)
        try:
            wanted = self.previews and has_preview(item)
            found_preview = self._preview(item, budget) if wanted else None
        except EngineRefused as error:
            if error.reason not in _OF_THE_CLAIM:
                raise
            values = {"error": error.message}
            broken.append(Finding("claim.invalid", asked.base, values, "unreadable"))
            return CheckedItem(item, most_specific([*mine, *broken]), None)
        facts_of = Facts(self._facts(asked), found_preview)
        told = [*mine, *broken, *self._findings(asked, facts_of, earlier, standing)]
        findings = self._proven(most_specific(told), facts_of.asks.values())
        return CheckedItem(item, findings, found_preview)

    def findings(self, item: Json) -> list[Finding]:
        """Return what `check` finds of a claim or template apart from its preview.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        broken = [*name_findings(item), *shape_findings(item)]
        if any(finding.code == "claim.invalid" for finding in broken):
            return most_specific(broken)
        asked = asked_of(item)
        facts = Facts(self._facts(asked), None)
        found = most_specific([*broken, *self._findings(asked, facts, [])])
        return self._proven(found, facts.asks.values())

    def _proven(
        self, findings: list[Finding], known: Iterable[AskFacts]
    ) -> list[Finding]:
        """Return findings of selectors with the fixes alone that were seen to work.

        What cannot be tried soon is not offered; everything that was found stays.
        """
        of = {selector.path: each for each in known for selector in each.selectors}
        ends = time.monotonic() + TRIES_SECONDS
        told = []
        for finding in findings:
            tried = finding
            if finding.path in of and finding.replacement is not None:
                tried = replace(finding, replacement=None)
                if time.monotonic() < ends:
                    try:
                        facts = of[finding.path]
                        tried = proven(self.engine, self.world, finding, facts)
                    except UNTRIED:
                        ends = 0.0
            told.append(tried)
        return told

    def _preview(self, item: Json, budget: float | None) -> Preview:
        claims = [claim_of(item)]
        return ask_preview(self.cluster, claims, overlay=self.overlay, budget=budget)

    def _findings(
        self,
        asked: Asked,
        facts: Facts,
        earlier: list[Json],
        standing: Json | None = None,
    ) -> Iterator[Finding]:
        world = self.world
        yield from immutable_findings(asked.manifest, earlier, world)
        yield from shapes.count_findings(asked)
        yield from shapes.all_findings(asked, facts, world)
        yield from shapes.dropped_findings(asked, world)
        yield from shapes.config_findings(asked)
        yield from queueing.queue_findings(asked, world)
        yield from shapes.constraint_findings(asked, facts, world)
        yield from shapes.class_findings(asked, world)
        if not has_preview(asked.manifest):
            return
        yield from shapes.distinct_findings(asked, facts, world)
        yield from satisfying.unmet_findings(asked, facts, world)
        yield from satisfying.count_findings(asked, facts, world)
        yield from expressions.selector_findings(asked, facts, world)
        yield from capacity.capacity_findings(asked, facts, world)
        yield from admin.admin_findings(asked, facts, world)
        yield from availability.availability_findings(asked, facts, world)
        yield from quotas.quota_findings(asked, world, standing)

    def _facts(self, asked: Asked) -> dict[str, AskFacts]:
        known = self.world.classes()
        return {
            ask.name: self._ask_facts(ask, known[ask.class_name])
            for ask in asked.asks
            if ask.class_name in known
        }

    def _ask_facts(self, ask: Ask, device_class: Json) -> AskFacts:
        of_class = self._of_class(device_class)
        within = [each.expression for each in of_class.selectors]
        selectors, matches = selector_facts(
            self.engine, self.world, ask.selectors, within
        )
        return AskFacts(
            of_class.of_class,
            matches if ask.selectors else of_class.of_class,
            selectors,
            of_class.selectors,
        )

    def _of_class(self, device_class: Json) -> AskFacts:
        """Return what a class matches, asked once however many requests name it."""
        name = name_of(device_class)
        if name not in self._of_classes:
            self._of_classes[name] = self._class_facts(device_class)
        return self._of_classes[name]

    def _class_facts(self, device_class: Json) -> AskFacts:
        pairs = [
            (f"spec.selectors[{i}].cel.expression", expression)
            for i, expression in enumerate(expressions_of(device_class))
        ]
        selectors, matches = selector_facts(self.engine, self.world, pairs, [])
        if not pairs:
            matches = frozenset(self.world.devices)
        return AskFacts(matches, matches, selectors)
