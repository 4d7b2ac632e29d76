"""Opaque configuration that a driver takes, field by field where its shape is known.

Source: dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1: gpuconfig.go,
migdeviceconfig.go, vfiodeviceconfig.go, sharing.go, iommu.go, computedomain.go.
Anything else is JSON as it stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import BadQuantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.draft import ConfigDraft, Pairs

Json = dict[str, Any]

NVIDIA = "resource.nvidia.com/v1beta1"
MAX_BYTES = 10 * 1024
_MEBI = 1024 * 1024


class Shape(StrEnum):
    """What may be typed into a field."""

    CHOICE = "choice"
    PERCENT = "percent"
    QUANTITY = "quantity"
    BOOL = "bool"
    LIMITS = "limits"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of a form.

    Attributes:
        path: where its value stands in the parameters.
        needs: the sharing strategy that it belongs to, or "".
    """

    name: str
    path: tuple[str, ...]
    shape: Shape
    choices: tuple[str, ...] = ()
    needs: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ConfigForm:
    """A kind of parameters whose fields are known."""

    kind: str
    driver: str
    parameters: tuple[Parameter, ...]


_STRATEGY = Parameter(
    "strategy", ("sharing", "strategy"), Shape.CHOICE, ("TimeSlicing", "MPS")
)
_INTERVAL = Parameter(
    "interval",
    ("sharing", "timeSlicingConfig", "interval"),
    Shape.CHOICE,
    ("Default", "Short", "Medium", "Long"),
    needs="TimeSlicing",
)
_MPS = ("sharing", "mpsConfig")
_LIMITED = (
    Parameter(
        "threads",
        (*_MPS, "defaultActiveThreadPercentage"),
        Shape.PERCENT,
        needs="MPS",
    ),
    Parameter(
        "memory",
        (*_MPS, "defaultPinnedDeviceMemoryLimit"),
        Shape.QUANTITY,
        needs="MPS",
    ),
    Parameter(
        "limits",
        (*_MPS, "defaultPerDevicePinnedMemoryLimit"),
        Shape.LIMITS,
        needs="MPS",
    ),
)
FORMS = {
    each.kind: each
    for each in (
        ConfigForm("GpuConfig", "gpu.nvidia.com", (_STRATEGY, _INTERVAL, *_LIMITED)),
        ConfigForm("MigDeviceConfig", "gpu.nvidia.com", (_STRATEGY, *_LIMITED)),
        ConfigForm(
            "VfioDeviceConfig",
            "gpu.nvidia.com",
            (
                Parameter(
                    "policy",
                    ("iommu", "backendPolicy"),
                    Shape.CHOICE,
                    ("PreferIommuFD", "LegacyOnly"),
                ),
                Parameter("device", ("iommu", "enableAPIDevice"), Shape.BOOL),
            ),
        ),
        ConfigForm(
            "ComputeDomainChannelConfig",
            "compute-domain.nvidia.com",
            (
                Parameter("domain", ("domainID",), Shape.TEXT, is_required=True),
                Parameter("mode", ("allocationMode",), Shape.CHOICE, ("Single", "All")),
            ),
        ),
    )
}


def parameters_of(config: ConfigDraft) -> Any:
    """Return the parameters as typed; what is no JSON stays the text that it is."""
    form = FORMS.get(config.form)
    if form is None:
        try:
            return json.loads(config.json)
        except (ValueError, RecursionError):
            return config.json
    body: Json = {"apiVersion": NVIDIA, "kind": form.kind}
    for each in form.parameters:
        if text := config.value(each.name):
            _put(body, each.path, _value(each, text))
    return body


def _put(body: Json, path: tuple[str, ...], value: Any) -> None:
    *outer, last = path
    for key in outer:
        body = body.setdefault(key, {})
    body[last] = value


def _value(each: Parameter, text: str) -> Any:
    if each.shape is Shape.PERCENT and text.isascii() and text.isdecimal():
        return int(text)
    if each.shape is Shape.BOOL:
        return text == "true"
    if each.shape is Shape.LIMITS:
        return dict(limits_in(text))
    return text


def limits_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (device, quantity) of `0=8Gi, 1=4Gi`."""
    for part in filter(None, (each.strip() for each in text.split(","))):
        device, _sign, amount = part.partition("=")
        yield device.strip(), amount.strip()


def shown(driver: str, parameters: Any) -> tuple[str, Pairs]:
    """Return (form, its fields) that show parameters, or ("", ()) where none can."""
    if not isinstance(parameters, dict) or parameters.get("apiVersion") != NVIDIA:
        return "", ()
    form = FORMS.get(str(parameters.get("kind")))
    if form is None or form.driver != driver:
        return "", ()
    values = []
    for each in form.parameters:
        found = _get(parameters, each.path)
        if found is None:
            continue
        text = _text(each, found)
        if text is None:
            return "", ()
        values.append((each.name, text))
    return form.kind, tuple(sorted(values))


def _get(body: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def _text(each: Parameter, value: Any) -> str | None:
    """Return a value as a field holds it, or None where the field could not."""
    if each.shape is Shape.BOOL:
        return str(value).lower() if isinstance(value, bool) else None
    if each.shape is Shape.PERCENT:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return str(value) if is_whole and value >= 0 else None
    if each.shape is Shape.LIMITS:
        fits = isinstance(value, dict) and all(
            isinstance(amount, str) and not {",", "="} & {*str(key), *amount}
            for key, amount in value.items()
        )
        pairs = value.items() if fits else ()
        return ", ".join(f"{key}={amount}" for key, amount in pairs) or None
    fits = isinstance(value, str) and value == value.strip() and "\n" not in value
    return (value or None) if fits else None


def faults(config: ConfigDraft) -> Iterator[tuple[str, str, dict[str, str | int]]]:
    """Yield (part of the config's fields, code, values) of what is wrong."""
    form = FORMS.get(config.form)
    if form is None:
        yield from _json_faults(config.json)
        return
    strategy = config.value("strategy")
    for each in form.parameters:
        text = config.value(each.name)
        part = f"value-{each.name}"
        if not text:
            if each.is_required:
                yield part, "config.needed", {}
        elif each.needs and each.needs != strategy:
            yield part, "config.strategy", {"needs": each.needs}
        else:
            yield from ((part, code, v) for code, v in _value_faults(each, text))


def _value_faults(
    each: Parameter, text: str
) -> Iterator[tuple[str, dict[str, str | int]]]:
    if each.choices and text not in each.choices:
        yield (
            "choice.unknown",
            {"value": text[:80], "known": ", ".join(each.choices)},
        )
    elif each.shape is Shape.PERCENT:
        if not (text.isascii() and text.isdecimal() and int(text[:4]) <= 100):
            yield "config.percent", {"value": text[:20]}
    elif each.shape is Shape.QUANTITY and not _is_limit(text):
        yield "config.limit", {"value": text[:40]}
    elif each.shape is Shape.LIMITS:
        for device, amount in limits_in(text):
            if not device or not _is_limit(amount):
                yield "config.limits", {"value": f"{device}={amount}"[:60]}
                return


def _is_limit(text: str) -> bool:
    """Return whether a limit comes to a whole mebibyte, the least the driver takes."""
    try:
        return parse_quantity(text) >= _MEBI
    except BadQuantity:
        return False


def _json_faults(text: str) -> Iterator[tuple[str, str, dict[str, str | int]]]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        yield (
            "json",
            "config.json",
            {"line": error.lineno, "column": error.colno, "why": error.msg},
        )
        return
    except (ValueError, RecursionError):
        yield "json", "config.json_depth", {}
        return
    if not isinstance(found, dict):
        yield "json", "config.json_object", {}
    elif len(json.dumps(found, ensure_ascii=False).encode()) > MAX_BYTES:
        yield "json", "config.too_long", {"limit": MAX_BYTES}
