"""A composed claim as it was typed: texts only, right or wrong, nothing lost.

Field names are those of the form, `requests-0-alternatives-1-class`. What binds
a constraint is kept by position ("0", "0/1"), so that renaming a request does
not unbind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claims.domain.opaque import FORMS
from claims.domain.spec import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EXACTLY = "exactly"
FIRST_AVAILABLE = "firstAvailable"
MATCH = "matchAttribute"
DISTINCT = "distinctAttribute"
_PLACE = re.compile(r"[0-9]{1,3}(/[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class TolerationDraft:
    """One toleration as typed."""

    key: str = ""
    operator: str = "Exists"
    value: str = ""
    effect: str = ""
    seconds: str = ""


@dataclass(frozen=True, slots=True)
class AlternativeDraft:
    """One alternative, or the only one of an exact request, as typed."""

    name: str = ""
    device_class: str = ""
    allocation_mode: str = "ExactCount"
    count: str = "1"
    selectors: tuple[str, ...] = ("",)
    capacity: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[TolerationDraft, ...] = ()
    derived: tuple[tuple[str, str], ...] = ()  # (name, CEL expression), of 1.37
    admin_access: bool = False


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """One request as typed; `mode` is exactly or firstAvailable."""

    name: str = ""
    mode: str = EXACTLY
    alternatives: tuple[AlternativeDraft, ...] = (AlternativeDraft(),)


@dataclass(frozen=True, slots=True)
class ConstraintDraft:
    """One constraint as typed; `binds` holds positions."""

    kind: str = DISTINCT
    attribute: str = ""
    binds: tuple[str, ...] = ()


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """One opaque config as typed; `binds` holds positions.

    Attributes:
        form: which of a driver's forms it is filled in by, or "" for JSON.
        values: what stands in that form's fields, by their names.
        json: the parameters, where there is no form.
    """

    driver: str = ""
    form: str = ""
    values: Pairs = ()
    json: str = "{}"
    binds: tuple[str, ...] = ()

    def value(self, name: str) -> str:
        """Return what stands in one of the form's fields, or ""."""
        return dict(self.values).get(name, "")


@dataclass(frozen=True, slots=True)
class Draft:
    """The whole form as typed.

    Attributes:
        labels, annotations: of the object itself, in order, keys as typed.
        claim_labels, claim_annotations: of each claim made from a template.
        base: the YAML that the form was filled from, with all that the form does
            not show; "" where it was filled by hand.
        justification: why it is needed, for those who approve; no part of the claim.
        hours: how long it is needed, as typed; None where it was not asked.
    """

    kind: str = Kind.TEMPLATE.value
    namespace: str = ""
    name: str = ""
    requests: tuple[RequestDraft, ...] = field(default=(RequestDraft(name="gpus"),))
    constraints: tuple[ConstraintDraft, ...] = ()
    configs: tuple[ConfigDraft, ...] = ()
    labels: Pairs = ()
    annotations: Pairs = ()
    claim_labels: Pairs = ()
    claim_annotations: Pairs = ()
    base: str = ""
    justification: str = ""
    hours: str | None = None

    @property
    def lasting(self) -> str:
        """The hours that it is to last, as typed; "" for without end."""
        if self.hours is None:
            return "24" if self.is_privileged else ""
        return self.hours

    @property
    def is_privileged(self) -> bool:
        """Whether an exact request asks for administrative access."""
        return any(
            alternative.admin_access
            for request in self.requests
            if request.mode == EXACTLY
            for alternative in request.alternatives
        )


def request_field(i: int, part: str) -> str:
    """Return the name of a field of request `i`."""
    return f"requests-{i}-{part}"


def alternative_field(i: int, j: int, part: str) -> str:
    """Return the name of a field of alternative `j` of request `i`."""
    return f"requests-{i}-alternatives-{j}-{part}"


def constraint_field(i: int, part: str) -> str:
    """Return the name of a field of constraint `i`."""
    return f"constraints-{i}-{part}"


def config_field(i: int, part: str) -> str:
    """Return the name of a field of opaque config `i`."""
    return f"config-{i}-{part}"


def pair_field(group: str, k: int, part: str) -> str:
    """Return the name of a field of label or annotation `k` of a group."""
    return f"{group}-{k}-{part}"


# Labels and annotations: attribute of a draft → prefix of its fields.
PAIRS = {
    "labels": "labels",
    "annotations": "annotations",
    "claim_labels": "claim-labels",
    "claim_annotations": "claim-annotations",
}


def places(draft: Draft) -> dict[str, str]:
    """Return what a constraint may bind, in order: position → name."""
    found = {}
    for i, request in enumerate(draft.requests):
        found[str(i)] = request.name
        if request.mode == FIRST_AVAILABLE:
            for j, alternative in enumerate(request.alternatives):
                found[f"{i}/{j}"] = f"{request.name}/{alternative.name}"
    return found


class _Fields:
    """Texts by field name, as a browser sent them, with single line ends."""

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._lists = lists

    def text(self, name: str, default: str = "") -> str:
        values = self._lists.get(name)
        return values[-1].replace("\r\n", "\n") if values else default

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._lists.get(name, ()))

    def places(self, name: str) -> tuple[str, ...]:
        return tuple(each for each in self.texts(name) if _PLACE.fullmatch(each))

    def pairs(self, group: str) -> Pairs:
        return tuple(
            (
                self.text(pair_field(group, k, "key")).strip(),
                self.text(pair_field(group, k, "value")),
            )
            for k in self.positions(group, "-key")
        )

    def positions(self, prefix: str, part: str) -> list[int]:
        """Return the n for which a field `prefix-n-part` was sent, ascending."""
        pattern = re.compile(rf"{re.escape(prefix)}-([0-9]{{1,3}}){re.escape(part)}")
        hits = (pattern.fullmatch(name) for name in self._lists)
        return sorted({int(hit[1]) for hit in hits if hit})

    def names_under(self, prefix: str) -> list[str]:
        """Return the n for which a field `prefix-n` was sent, sorted."""
        head = f"{prefix}-"
        return sorted(
            name.removeprefix(head) for name in self._lists if name.startswith(head)
        )


def from_fields(lists: Mapping[str, Sequence[str]]) -> Draft:
    """Return the draft that a browser sent; what it did not send has its default."""
    fields = _Fields(lists)
    rows = fields.positions("requests", "-name")
    return Draft(
        kind=fields.text("kind", Kind.TEMPLATE.value),
        namespace=fields.text("namespace").strip(),
        name=fields.text("name").strip(),
        requests=tuple(_request(fields, i) for i in rows),
        constraints=tuple(
            ConstraintDraft(
                kind=fields.text(constraint_field(i, "kind"), DISTINCT),
                attribute=fields.text(constraint_field(i, "attribute")).strip(),
                binds=fields.places(constraint_field(i, "binds")),
            )
            for i in fields.positions("constraints", "-kind")
        ),
        configs=tuple(_config(fields, i) for i in fields.positions("config", "-form")),
        labels=fields.pairs("labels"),
        annotations=fields.pairs("annotations"),
        claim_labels=fields.pairs("claim-labels"),
        claim_annotations=fields.pairs("claim-annotations"),
        base=fields.text("base"),
        justification=fields.text("justification").strip(),
        hours=fields.text("hours").strip() if "hours" in lists else None,
    )


def _config(fields: _Fields, i: int) -> ConfigDraft:
    shown = fields.text(config_field(i, "form"))
    known = FORMS.get(shown)
    driver = known.driver if known else fields.text(config_field(i, "driver")).strip()
    names = fields.names_under(config_field(i, "value"))
    return ConfigDraft(
        driver=driver,
        form=shown,
        values=tuple(
            (name, fields.text(config_field(i, f"value-{name}")).strip())
            for name in names
        ),
        json=fields.text(config_field(i, "json"), "{}"),
        binds=fields.places(config_field(i, "binds")),
    )


def _request(fields: _Fields, i: int) -> RequestDraft:
    columns = fields.positions(f"requests-{i}-alternatives", "-class")
    return RequestDraft(
        name=fields.text(request_field(i, "name")).strip(),
        mode=fields.text(request_field(i, "mode"), EXACTLY),
        alternatives=tuple(_alternative(fields, i, j) for j in columns),
    )


def _alternative(fields: _Fields, i: int, j: int) -> AlternativeDraft:
    prefix = alternative_field(i, j, "selectors")
    return AlternativeDraft(
        name=fields.text(alternative_field(i, j, "name")).strip(),
        device_class=fields.text(alternative_field(i, j, "class")).strip(),
        allocation_mode=fields.text(alternative_field(i, j, "mode"), "ExactCount"),
        count=fields.text(alternative_field(i, j, "count"), "1").strip(),
        selectors=tuple(
            fields.text(f"{prefix}-{k}") for k in fields.positions(prefix, "")
        ),
        capacity=tuple(_capacity(fields, i, j)),
        tolerations=tuple(_tolerations(fields, i, j)),
        derived=tuple(_derived(fields, i, j)),
        admin_access=bool(fields.text(alternative_field(i, j, "admin"))),
    )


def _capacity(fields: _Fields, i: int, j: int) -> Iterator[tuple[str, str]]:
    prefix = alternative_field(i, j, "capacity")
    for k in fields.positions(prefix, "-key"):
        key = fields.text(f"{prefix}-{k}-key").strip()
        value = fields.text(f"{prefix}-{k}-value").strip()
        if key and value:
            yield key, value


def _tolerations(fields: _Fields, i: int, j: int) -> Iterator[TolerationDraft]:
    prefix = alternative_field(i, j, "tolerations")
    for k in fields.positions(prefix, "-operator"):
        yield TolerationDraft(
            key=fields.text(f"{prefix}-{k}-key").strip(),
            operator=fields.text(f"{prefix}-{k}-operator"),
            value=fields.text(f"{prefix}-{k}-value").strip(),
            effect=fields.text(f"{prefix}-{k}-effect"),
            seconds=fields.text(f"{prefix}-{k}-seconds").strip(),
        )


def _derived(fields: _Fields, i: int, j: int) -> Iterator[tuple[str, str]]:
    prefix = alternative_field(i, j, "derived")
    for k in fields.positions(prefix, "-name"):
        name = fields.text(f"{prefix}-{k}-name").strip()
        yield name, fields.text(f"{prefix}-{k}-expression")


def selector_at(draft: Draft, name: str) -> tuple[str, str] | None:
    """Return (device class, expression) of the selector field `name`, or None."""
    for i, request in enumerate(draft.requests):
        for j, alternative in enumerate(request.alternatives):
            for k, text in enumerate(alternative.selectors):
                if alternative_field(i, j, f"selectors-{k}") == name:
                    return alternative.device_class, text
    return None
