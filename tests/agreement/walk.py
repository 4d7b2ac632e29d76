"""A walk: claims asked one after another on one real cluster, whose population lives on.

Before each claim the portal reads the cluster as it does in earnest, previews, and only
then the pod is made. What got devices keeps them until the walk lets it go.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from claims.domain.preview import Preview
from claims.services.preview import preview
from inventory.models import Cluster
from tests.agreement.claims import NAMESPACE, pod, random_claim
from tests.agreement.compare import (
    ERROR,
    FITS,
    NO,
    UNDECIDED,
    Happened,
    disagreement,
    expected,
)
from tests.agreement.fleets import Features, classes, random_fleet
from tests.agreement.reading import read
from tests.cluster.client import Client, Object, Refused
from tests.cluster.controlplane import ControlPlane

FORCE = {"gracePeriodSeconds": 0}
BUDGET_SECONDS = 8.0
POD_SECONDS = 40.0
# A scheduler that has not seen a deletion yet tries again when it has.
SECOND_LOOK_SECONDS = 6.0
AGAIN = 200


@dataclass(slots=True)
class Asked:
    """One pod's claims and how it went."""

    seed: int
    step: int
    claims: list[Object]
    nodes: list[str]
    said: Preview
    happened: Happened
    difference: str


@dataclass(slots=True)
class Tally:
    """What came of all that was asked."""

    outcomes: dict[str, int] = field(default_factory=dict)
    claims: int = 0
    undecided: int = 0
    by_order: int = 0
    crashes: int = 0
    differences: list[Asked] = field(default_factory=list)

    def add(self, asked: Asked) -> None:
        """Count one."""
        outcome = asked.happened.outcome
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.claims += len(asked.claims)
        if asked.difference:
            self.differences.append(asked)

    def line(self) -> str:
        """Return it in a line."""
        counts = ", ".join(f"{n} {o}" for o, n in sorted(self.outcomes.items()))
        return (
            f"{self.claims} claims of {sum(self.outcomes.values())} pods ({counts};"
            f" {self.undecided} undecided, {self.by_order} open by order,"
            f" {self.crashes} crashed the scheduler),"
            f" {len(self.differences)} disagreements"
        )


class Walk:
    """One fleet and its population on a real cluster."""

    def __init__(
        self, plane: ControlPlane, cluster: Cluster, features: Features, seed: int
    ) -> None:
        """Fill the cluster with the seed's fleet."""
        self.plane = plane
        self.admin: Client = plane.admin
        self.cluster = cluster
        self.features = features
        self.seed = seed
        self.random = Random(seed)
        self.fleet = random_fleet(self.random, features)
        self.living: list[tuple[str, list[str]]] = []
        self._fill(plane)

    def _fill(self, plane: ControlPlane) -> None:
        label = {"resource.kubernetes.io/admin-access": "true"}
        space = {"apiVersion": "v1", "kind": "Namespace"}
        plane.apply([space | {"metadata": {"name": NAMESPACE, "labels": label}}])
        plane.apply(classes(self.features))
        for name, labels in self.fleet.nodes.items():
            plane.add_node(name, labels)
        for each in self.fleet.slices:
            self.admin.create(each)

    def empty(self) -> None:
        """Take everything away again."""
        while self.living:
            self._let_go(0)
        for rule in self._list("DeviceTaintRule"):
            self.admin.delete(rule)
        for kind in ("ResourceSlice", "Node"):
            for each in self._list(kind):
                self.admin.delete(each)

    def run(self, steps: int, tally: Tally) -> None:
        """Ask so many claims, and count how it went."""
        asked = 0
        step = 0
        while asked < steps:
            step += 1
            self._upset()
            one = self._ask(step, tally)
            asked += len(one.claims)
        self.empty()

    def _upset(self) -> None:
        """Now and then end a pod, restart a driver, or change a taint rule."""
        if self.living and self.random.random() < 0.3 + 0.04 * len(self.living):
            self._let_go(self.random.randrange(len(self.living)))
        if self.random.random() < 0.08:
            self._restart_driver()
        if self.features.minor >= 37 and self.random.random() < 0.1:
            self._change_rules()

    def _let_go(self, number: int) -> None:
        name, claims = self.living.pop(number)
        self._remove(name, claims)

    def _remove(self, name: str, claims: list[str]) -> None:
        """Delete a pod and its claims, and wait until all are gone."""
        targets = [("Pod", name), *(("ResourceClaim", each) for each in claims)]
        for kind, each in targets:
            metadata = {"name": each, "namespace": NAMESPACE}
            with contextlib.suppress(Refused):
                self.admin.delete({"kind": kind, "metadata": metadata}, FORCE)
        for kind, each in targets:
            assert self._until(partial(self._gone, kind, each)), f"{each} stays"

    def _restart_driver(self) -> None:
        """Delete a slice and publish its pool again, one generation on."""
        slices = self._list("ResourceSlice")
        chosen = self.random.choice(slices)["spec"]
        key = (chosen["driver"], chosen["pool"]["name"])
        of_pool = [
            s for s in slices if (s["spec"]["driver"], s["spec"]["pool"]["name"]) == key
        ]
        newest = max(s["spec"]["pool"]["generation"] for s in of_pool)
        for each in of_pool:
            self.admin.delete(each)
        for each in of_pool:
            spec = each["spec"]
            if spec["pool"]["generation"] == newest:
                pool = spec["pool"] | {"generation": newest + 1}
                name = each["metadata"]["name"]
                self.admin.create(
                    {
                        "apiVersion": each.get("apiVersion", "resource.k8s.io/v1"),
                        "kind": "ResourceSlice",
                        "metadata": {"name": name},
                        "spec": spec | {"pool": pool},
                    }
                )

    def _change_rules(self) -> None:
        rules = self._list("DeviceTaintRule")
        if rules and self.random.random() < 0.6:
            self.admin.delete(self.random.choice(rules))
            return
        slices = self._list("ResourceSlice")
        chosen = self.random.choice(slices)["spec"]
        selector: Object = {"driver": chosen["driver"], "pool": chosen["pool"]["name"]}
        devices = chosen.get("devices") or []
        if devices and self.random.random() < 0.7:
            selector["device"] = self.random.choice(devices)["name"]
        effect = self.random.choice(("NoSchedule", "None"))
        taint = {"key": "gpu.nvidia.com/health", "value": "bad", "effect": effect}
        name = f"rule-{self.random.randrange(10**6)}"
        self.admin.create(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceTaintRule",
                "metadata": {"name": name},
                "spec": {"deviceSelector": selector, "taint": taint},
            }
        )

    def _ask(self, step: int, tally: Tally) -> Asked:
        """Preview some claims, make the pod, and compare."""
        name = f"p-{self.seed}-{step}"
        count = self.random.choice((1, 1, 1, 1, 2))
        wanted = [
            random_claim(self.random, f"{name}-{n}", self.features)
            for n in range(count)
        ]
        one = self.random.choice((None, None, *sorted(self.fleet.nodes)))
        nodes = [one] if one else sorted(self.fleet.nodes)
        read(self.cluster)
        stored = [self.admin.create(each) for each in wanted]
        said = preview(self.cluster, stored, budget=BUDGET_SECONDS)
        names = [each["metadata"]["name"] for each in stored]
        if expected(said, nodes) == UNDECIDED:
            # The scheduler would search as long, and has no better answer.
            tally.undecided += 1
            self._remove(name, names)
            return Asked(self.seed, step, stored, nodes, said, Happened(UNDECIDED), "")
        self.admin.create(pod(name, names, one))
        asked = self._compared(step, name, stored, nodes, said)
        if asked.happened.outcome == FITS:
            self.living.append((name, names))
        else:
            self._remove(name, names)
        if self.plane.ended():
            tally.crashes += 1
            self.plane.revive()
        if asked.difference and self._is_open(asked):
            tally.by_order += 1
            asked.difference = ""
        tally.add(asked)
        return asked

    def _compared(
        self,
        step: int,
        name: str,
        claims: list[Object],
        nodes: list[str],
        said: Preview,
    ) -> Asked:
        happened = self._until(lambda: self._fate(name, claims)) or Happened(
            "nothing", f"the scheduler says nothing for {POD_SECONDS:g} s"
        )
        difference = disagreement(said, nodes, happened)
        deadline = time.monotonic() + SECOND_LOOK_SECONDS
        while difference and happened.outcome != FITS and time.monotonic() < deadline:
            time.sleep(0.5)
            happened = self._fate(name, claims) or happened
            difference = disagreement(said, nodes, happened)
        return Asked(self.seed, step, claims, nodes, said, happened, difference)

    def _fate(self, name: str, claims: list[Object]) -> Happened | None:
        """Return what has become of a pod; None while nothing has."""
        stored = self.admin.get("Pod", name, NAMESPACE)
        if node := stored["spec"].get("nodeName"):
            names = [each["metadata"]["name"] for each in claims]
            now = [self.admin.get("ResourceClaim", n, NAMESPACE) for n in names]
            return Happened(
                FITS, node=node, allocations=[c["status"]["allocation"] for c in now]
            )
        # One that is crashing may still write what the other nodes said.
        if ended := self.plane.ended():
            return Happened(ERROR, f"{', '.join(ended)} crashed", is_crash=True)
        for condition in stored["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition.get("message"):
                message = condition["message"]
                return Happened(_outcome(condition["reason"], message), message)
        return None

    def _list(self, kind: str) -> list[Object]:
        try:
            items = self.admin.list(kind)["items"]
        except Refused:
            return []
        return [{"kind": kind, **each} for each in items]

    def _gone(self, kind: str, name: str) -> bool:
        try:
            self.admin.get(kind, name, NAMESPACE)
        except Refused:
            return True
        return False

    def _is_open(self, asked: Asked) -> bool:
        """Whether the library itself gives the other answer too, asked again.

        Where pools, and a pool's slices, come in any order, the first of several
        devices that would do is another each time, and an error behind one of them
        is met or not. The engine has slices in the order of their names.
        """
        if not asked.said.order_is_arbitrary or asked.happened.is_crash:
            return False
        slices = self._list("ResourceSlice")
        again = (
            preview(
                self.cluster,
                asked.claims,
                overlay=reordered(slices, Random(number)),
                budget=BUDGET_SECONDS,
            )
            for number in range(AGAIN)
        )
        return any(
            not disagreement(said, asked.nodes, asked.happened) for said in again
        )

    @staticmethod
    def _until(condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + POD_SECONDS
        while not (answer := condition()):
            if time.monotonic() > deadline:
                return None
            time.sleep(0.03)
        return answer


def _outcome(reason: str, message: str) -> str:
    """Return what a condition's reason means; a missing class has no reason of its own."""
    is_error = reason == "SchedulerError" or "does not exist" in message
    return ERROR if is_error else NO


def reordered(slices: list[Object], random: Random) -> list[Object]:
    """Return the slices with their contents dealt out anew among them.

    Pools too come in another order then: that in which their first slices come.
    """
    return [
        {**each, "apiVersion": "resource.k8s.io/v1", "spec": other["spec"]}
        for each, other in zip(slices, random.sample(slices, len(slices)), strict=True)
    ]
