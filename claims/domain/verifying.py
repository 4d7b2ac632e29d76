"""Commands by which a person sees for themself what a claim got."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claims.domain.follow import FollowedClaim

_SLICE_COLUMNS = (
    "custom-columns=NAME:.metadata.name,DRIVER:.spec.driver,POOL:.spec.pool.name,"
    "GENERATION:.spec.pool.generation,NODE:.spec.nodeName,DEVICES:.spec.devices[*].name"
)
_RESULTS = "jsonpath={range .status.allocation.devices.results[*]}{.request}{'\\t'}{.driver}/{.pool}/{.device}{'\\n'}{end}"


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and what it shows: claim, devices, slices, pod or gpus."""

    shows: str
    text: str


def verifying_commands(claim: FollowedClaim) -> list[Command]:
    """Return the commands, each ready to be pasted into a POSIX shell."""
    within = ["--namespace", claim.namespace]
    get = ["kubectl", "get", "resourceclaim", claim.name, *within]
    found = [
        Command("claim", shlex.join([*get, "--output", "wide"])),
        Command("devices", shlex.join([*get, "--output", _RESULTS])),
    ]
    for driver in sorted({device.driver for device in claim.devices}):
        slices = ["kubectl", "get", "resourceslices"]
        chosen = ["--field-selector", f"spec.driver={driver}"]
        text = shlex.join([*slices, *chosen, "--output", _SLICE_COLUMNS])
        found.append(Command("slices", text))
    for pod in claim.pods:
        found.append(
            Command("pod", shlex.join(["kubectl", "describe", "pod", pod, *within]))
        )
        if any(device.driver == "gpu.nvidia.com" for device in claim.devices):
            run = ["kubectl", "exec", pod, *within, "--", "nvidia-smi", "-L"]
            found.append(Command("gpus", shlex.join(run)))
    return found
