"""Taints that an administrator adds to devices with a DeviceTaintRule.

Source: resource.k8s.io DeviceTaintRule: v1 and v1beta2 select by driver, pool and
device; an empty selector selects every device, a missing one none. v1alpha3 could
also select by class or by CEL, which is not judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inventory.domain.gpus import Taint


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A rule and the taint it adds; "" selects any."""

    taint: Taint
    driver: str
    pool: str
    device: str

    def selects(self, driver: str, pool: str, device: str) -> bool:
        """Return whether the rule adds its taint to a device."""
        return (
            self.driver in ("", driver)
            and self.pool in ("", pool)
            and self.device in ("", device)
        )


def parse_rule(name: str, spec: Any) -> TaintRule | None:
    """Return the rule that a DeviceTaintRule's spec says, None where it selects none."""
    if not isinstance(spec, dict) or not isinstance(spec.get("taint"), dict):
        return None
    selector = spec.get("deviceSelector")
    if not isinstance(selector, dict) or {"deviceClassName", "selectors"} & set(
        selector
    ):
        return None
    # Null is as if it were left out; an empty name is that of nothing.
    if "" in (selector.get(key) for key in ("driver", "pool", "device")):
        return None
    taint = spec["taint"]
    return TaintRule(
        Taint(
            str(taint.get("key", "")),
            str(taint.get("value") or ""),
            str(taint.get("effect", "")),
            rule=name,
        ),
        *(str(selector.get(key) or "") for key in ("driver", "pool", "device")),
    )
