"""Which devices an administrative claim would reach, and whose work is on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.domain.manifest import device_requests
from claims.services.composing import classes_of
from inventory.services.engines import engine_for
from portal.approvals.queries.exposure import reach_of, tenants_by_namespace
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.models import ClaimPlan
    from inventory.domain.fleet import DeviceKey
    from portal.approvals.queries.exposure import Reach


@dataclass(frozen=True)
class Reached:
    """What a plan would see; `failure` says why it is not known."""

    reach: Reach | None
    failure: str = ""


def reached_by(plan: ClaimPlan) -> Reached:
    """Return what the administrative requests of a plan could be given, of all nodes.

    Taints and full counters are left out of account: what they keep from it now
    they may give it later.
    """
    classes = classes_of(plan.cluster)
    devices: set[DeviceKey] = set()
    try:
        engine = engine_for(plan.cluster)
        for asked in device_requests(plan.manifest):
            if asked.get("adminAccess") is not True:
                continue
            own = [each["cel"]["expression"] for each in asked.get("selectors") or []]
            within = list(classes.get(asked["deviceClassName"], ()))
            found = engine.evaluate(own or within, within=within, listing=True)
            devices |= {_key(name) for name in found.matches}
    except PortalError as error:
        return Reached(None, error.message)
    return Reached(reach_of(plan.cluster, devices, tenants_by_namespace(plan.cluster)))


def _key(device_id: str) -> DeviceKey:
    """Return driver, pool and name of `driver/pool/name`; pools may hold slashes."""
    driver, _slash, rest = device_id.partition("/")
    pool, _slash, name = rest.rpartition("/")
    return driver, pool, name
