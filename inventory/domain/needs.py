"""How much memory a claim says that each device of a request must have.

Source: resource.k8s.io/v1 DeviceRequest: `capacity.requests`, and selectors that
set a lower bound on the capacity `memory`.
"""

from __future__ import annotations

import re
from typing import Any

from inventory.domain.quantity import BadQuantity, parse_bytes

_BOUND = re.compile(
    r"memory\s*\.\s*compareTo\(\s*quantity\(\s*(['\"])(?P<least>[^'\"]+)\1\s*\)\s*\)"
    r"\s*(?:>=\s*0|>\s*-1|>\s*0)"
)
# With these, a bound need not hold for every device that is selected.
_ALTERNATIVES = ("||", "?", "!")


def needs_of(requests: Any) -> dict[str, int | None]:
    """Return request → bytes that each of its devices needs, None where unsaid.

    Subrequests are named `request/subrequest`, as allocation results name them.
    """
    found: dict[str, int | None] = {}
    for request in _dicts(requests):
        name = str(request.get("name", ""))
        if "exactly" in request:
            found[name] = _need(request.get("exactly"))
        for sub in _dicts(request.get("firstAvailable")):
            found[f"{name}/{sub.get('name', '')}"] = _need(sub)
    return found


def _need(request: Any) -> int | None:
    if not isinstance(request, dict):
        return None
    requests = _dict(_dict(request.get("capacity")).get("requests"))
    amounts = [
        _bytes(value)
        for key, value in requests.items()
        if str(key).rpartition("/")[2] == "memory"
    ]
    amounts += [_bound(selector) for selector in _dicts(request.get("selectors"))]
    return max((a for a in amounts if a is not None), default=None)


def _bound(selector: dict[str, Any]) -> int | None:
    text = str(_dict(selector.get("cel")).get("expression") or "")
    if any(sign in text.replace("!=", "") for sign in _ALTERNATIVES):
        return None
    bounds = [_bytes(match["least"]) for match in _BOUND.finditer(text)]
    return max((b for b in bounds if b is not None), default=None)


def _bytes(quantity: Any) -> int | None:
    try:
        return parse_bytes(str(quantity))
    except BadQuantity:
        return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
