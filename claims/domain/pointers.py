"""From a path as Kubernetes writes it to a JSON pointer.

`spec.devices.requests[0].exactly.capacity.requests[gpu.example.com/memory]` →
`/spec/devices/requests/0/exactly/capacity/requests/gpu.example.com~1memory`.
Source: RFC 6901.
"""

from __future__ import annotations

import re

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def pointer_of(path: str) -> str:
    """Return the pointer, empty for an empty path."""
    steps = [plain or inner for plain, inner in _STEP.findall(path)]
    return "".join(
        f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps if step
    )
