"""Devices that are made ready after they are allocated: what driver and scheduler do.

The driver attaches a device some seconds after its claim was allocated and says so
in `status.devices[].conditions`; the scheduler binds the pod once all of them are
true, and gives the allocation up where one failed or none came in time. A claim may
say how its driver behaves, by the annotation PLAY: `fail`, or `silent` for a driver
that never tells.

Source: kube-scheduler's DynamicResources plugin (PreBind, bindingTimeout), KEP-5007.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from simcluster.kinds import CLAIM, Object
from simcluster.registry import moment
from simcluster.storage import Store

PLAY = "simcluster.slicewise.io/device"
_WORDS = {
    "bindingConditions": ("Attached", "the device is attached to the node"),
    "bindingFailureConditions": ("AttachFailed", "the fabric has no free port"),
}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds.

    Attributes:
        attach: from allocation to the driver's word.
        timeout: how long the scheduler waits for it.
        backoff: from a failure to the next attempt; until then the claim stays.
    """

    attach: float = 5
    timeout: float = 600
    backoff: float = 10


@dataclass(slots=True)
class Waiting:
    """A pod that is not bound yet: to which node, and when it gave up, if it did."""

    node: str
    given_up: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of a pod: it goes on waiting, is to be bound, or failed."""

    goes_on: bool = True
    node: str = ""
    why: str = ""


class Binder:
    """The driver's part and the scheduler's, for pods that are allocated, not bound."""

    def __init__(self, store: Store, pace: Pace) -> None:
        """Take the store, and how long things take."""
        self._store, self._pace = store, pace
        self._waiting: dict[str, Waiting] = {}

    def attach(self) -> None:
        """Tell, as drivers do, what became of devices allocated a while ago."""
        for claim in self._store.items(CLAIM):
            untold = [each for each in _results(claim) if _is_untold(claim, each)]
            play = claim["metadata"].get("annotations", {}).get(PLAY, "")
            if not untold or play == "silent":
                continue
            if _age(_allocated_at(claim)) >= self._pace.attach:
                told = [_told(each, failed=play == "fail") for each in untold]
                status = claim["status"]
                devices = [*status.get("devices", []), *told]
                status = {**status, "devices": devices}
                self._store.put(CLAIM, {**claim, "status": status})

    def begin(self, uid: str, node: str, claims: list[Object]) -> bool:
        """Take a pod that was placed on a node; say whether it must wait."""
        if any(map(must_wait, claims)):
            self._waiting[uid] = Waiting(node)
        return uid in self._waiting

    def step(self, uid: str, claims: list[Object]) -> Step:
        """Look how far a pod's devices are."""
        waiting = self._waiting.get(uid)
        held = claims and all("allocation" in c.get("status", {}) for c in claims)
        if waiting is None or not held:
            self._waiting.pop(uid, None)
            return Step(goes_on=False)
        if waiting.given_up:
            self._try_again(uid, waiting, claims)
            return Step()
        why = next(filter(None, (why_not(c, self._pace) for c in claims)), "")
        if why:
            waiting.given_up = moment()
            return Step(why=why)
        if any(map(must_wait, claims)):
            return Step()
        del self._waiting[uid]
        return Step(node=waiting.node)

    def _try_again(self, uid: str, waiting: Waiting, claims: list[Object]) -> None:
        """Give the allocations up, a while after they failed."""
        if _age(waiting.given_up) >= self._pace.backoff:
            del self._waiting[uid]
            for claim in claims:
                self._store.put(CLAIM, _given_up(claim))


def must_wait(claim: Object) -> bool:
    """Return whether a claim holds a device whose conditions are not all true."""
    return any(
        name not in _true(claim, each)
        for each in _results(claim)
        for name in each["bindingConditions"]
    )


def why_not(claim: Object, pace: Pace) -> str:
    """Return why a claim's devices will not be ready, or an empty text."""
    name = claim["metadata"]["name"]
    for each in _results(claim):
        failed = _true(claim, each).intersection(each["bindingFailureConditions"])
        if failed:
            reason = ", ".join(sorted(failed))
            return f"claim {name} binding failed: device {each['device']}: {reason}"
    if must_wait(claim) and _age(_allocated_at(claim)) > pace.timeout:
        return f"claim {name} binding timeout after {pace.timeout:g} seconds"
    return ""


def _given_up(claim: Object) -> Object:
    """Return a claim without its allocation, as the next attempt begins."""
    dropped = ("allocation", "reservedFor", "devices")
    status = {k: v for k, v in claim["status"].items() if k not in dropped}
    return {**claim, "status": status}


def _results(claim: Object) -> Iterator[Object]:
    """Yield the allocated devices that have binding conditions."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for each in allocation.get("devices", {}).get("results", []):
        if each.get("bindingConditions"):
            yield {"bindingFailureConditions": [], **each}


def _key(device: Object) -> tuple[str, ...]:
    names = ("driver", "pool", "device", "shareID")
    return tuple(device.get(name) or "" for name in names)


def _is_untold(claim: Object, result: Object) -> bool:
    told = claim["status"].get("devices", [])
    return _key(result) not in map(_key, told)


def _true(claim: Object, result: Object) -> set[str]:
    return {
        condition["type"]
        for device in claim["status"].get("devices", [])
        for condition in device.get("conditions", [])
        if _key(device) == _key(result) and condition["status"] == "True"
    }


def _told(result: Object, *, failed: bool) -> Object:
    """Return what a driver writes of one device."""
    source = "bindingFailureConditions" if failed else "bindingConditions"
    reason, message = _WORDS[source]
    conditions = [
        {
            "type": name,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": moment(),
        }
        for name in result[source]
    ]
    names = ("driver", "pool", "device", "shareID")
    device = {name: result[name] for name in names if name in result}
    return {**device, "conditions": conditions}


def _allocated_at(claim: Object) -> str:
    return str(claim["status"]["allocation"].get("allocationTimestamp", ""))


def _age(since: str) -> float:
    """Return the whole seconds since a moment, which is written without fractions."""
    now = datetime.fromisoformat(moment())
    return (now - datetime.fromisoformat(since)).total_seconds() if since else 0
