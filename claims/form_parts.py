"""What the composer's form is made of, as a template shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from claims.domain.spec import Kind

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from claims.services.expressions import Verdict

OPERATORS = (("Exists", _("exists")), ("Equal", _("equals")))
EFFECTS = (
    ("", _("any effect")),
    ("NoSchedule", "NoSchedule"),
    ("NoExecute", "NoExecute"),
    ("None", "None"),
)


CONFIG_FORMS: tuple[tuple[str, object], ...] = (
    ("GpuConfig", _("NVIDIA: sharing of a GPU")),
    ("MigDeviceConfig", _("NVIDIA: sharing of a MIG device")),
    ("VfioDeviceConfig", _("NVIDIA: passthrough to a virtual machine")),
    ("ComputeDomainChannelConfig", _("NVIDIA: channel of a ComputeDomain")),
    ("", _("any driver, as JSON")),
)
PARAMETERS: dict[str, _StrPromise] = {
    "strategy": _("Sharing strategy"),
    "interval": _("Time slice"),
    "threads": _("Active threads, % (MPS)"),
    "memory": _("Memory limit a process (MPS)"),
    "limits": _("Memory limit by device (MPS)"),
    "policy": _("IOMMU backend"),
    "device": _("IOMMU API device"),
    "domain": _("ComputeDomain’s uid"),
    "mode": _("Channels"),
}
EXAMPLES = {"memory": "8Gi", "limits": "0=8Gi, 1=4Gi", "threads": "50"}
GROUPS: tuple[_StrPromise, ...] = (
    _("Labels"),
    _("Annotations"),
    _("Labels of each pod’s claim"),
    _("Annotations of each pod’s claim"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """One input: its name, what was typed, and what is wrong with it."""

    name: str
    value: str = ""
    errors: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the input."""
        return f"f-{self.name}"

    @property
    def error_id(self) -> str:
        """The id of the sentences about it."""
        return f"{self.id}-error"


@dataclass(frozen=True, slots=True)
class Selector:
    """A CEL field with the verdict on it, or None where it was not judged."""

    field: Field
    verdict: Verdict | None
    remove: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity request: the key's hidden field, the quantity's, and a hint."""

    key: Field
    field: Field
    hints: tuple[str, ...]
    is_published: bool
    is_shared: bool
    given: tuple[str, ...] = ()  # what a policy rounds the amount to

    @property
    def is_plain(self) -> bool:
        """Whether it stands among the first fields, not among the further ones."""
        return self.is_shared or not self.is_published


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration's fields."""

    key: Field
    operator: Field
    value: Field
    effect: Field
    seconds: Field
    remove: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """One alternative with its fields; `place` is "request:alternative"."""

    place: str
    number: int
    name: Field
    device_class: Field
    mode: Field
    count: Field
    admin: Field
    admin_is_on: bool
    selectors: tuple[Selector, ...]
    capacity: tuple[Capacity, ...]
    tolerations: tuple[Toleration, ...]
    derived: tuple[tuple[Field, Field, str], ...]  # name, expression, remove
    together: Verdict | None
    binding: tuple[str, ...]  # what devices of the class wait for once allocated
    is_first: bool
    is_last: bool

    @property
    def slot(self) -> str:
        """The place as an id may hold it."""
        return self.place.replace(":", "-")

    @property
    def further(self) -> int:
        """How many capacity keys are hidden at first: no amount of them is shared."""
        return sum(not each.is_plain for each in self.capacity)

    @property
    def further_is_open(self) -> bool:
        """Whether one of those was asked for, or has something wrong with it."""
        return any(
            each.field.value or each.field.errors
            for each in self.capacity
            if not each.is_plain
        )


@dataclass(frozen=True, slots=True)
class Request:
    """One request with its alternatives."""

    at: int
    number: int
    name: Field
    mode: Field
    alternatives: tuple[Alternative, ...]
    is_list: bool
    is_full: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint; `offers` are (position, name, is bound)."""

    at: int
    number: int
    kind: Field
    attribute: Field
    binds: Field
    offers: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class ParameterField:
    """One field of a config's form; `choices` are those of a selection."""

    label: object
    field: Field
    choices: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Config:
    """One opaque config; `parameters` are none where JSON is typed."""

    at: int
    number: int
    driver: Field
    form: Field
    json: Field
    parameters: tuple[ParameterField, ...]
    binds: Field
    offers: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Labels or annotations: (key, value, what its remove button is worth)."""

    at: int
    title: object
    rows: tuple[tuple[Field, Field, str], ...]


@dataclass(frozen=True, slots=True)
class ComposeForm:
    """The whole form as a template shows it."""

    submission_key: str
    kind: Field
    namespace: Field
    name: Field
    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]
    configs: tuple[Config, ...]
    groups: tuple[Group, ...]
    base: str
    justification: Field
    hours: Field
    is_justified: bool  # whether reason and length are asked
    problems: tuple[tuple[str, str], ...]  # (id of the input, sentence)
    focus: str = ""
    kinds: tuple[str, ...] = field(default=tuple(kind.value for kind in Kind))
    operators: tuple[tuple[str, object], ...] = OPERATORS
    effects: tuple[tuple[str, object], ...] = EFFECTS
    config_forms: tuple[tuple[str, object], ...] = CONFIG_FORMS

    @property
    def is_labelled(self) -> bool:
        """Whether there is a label or an annotation."""
        return any(group.rows for group in self.groups)
