"""A manifest taken back into the form, or every reason why it cannot be.

Nothing is dropped in silence: a field that the form cannot show is named and stays
in the YAML that the form keeps, and what only the server sets is named as left out.
Wrong *values* (a bad quantity) are let through: they are shown beside their fields.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from claims.domain.compose import API_VERSION
from claims.domain.draft import (
    DISTINCT,
    EXACTLY,
    FIRST_AVAILABLE,
    MATCH,
    AlternativeDraft,
    ConfigDraft,
    ConstraintDraft,
    Draft,
    Pairs,
    RequestDraft,
    TolerationDraft,
    places,
)
from claims.domain.opaque import FORMS, shown
from claims.domain.spec import (
    MAX_ALTERNATIVES,
    MAX_CONFIGS,
    MAX_CONSTRAINTS,
    MAX_DERIVED,
    MAX_REQUESTS,
    MAX_SELECTORS,
    MAX_TOLERATIONS,
    Kind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]

SERVER_SETS = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
)
_ASKED = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "tolerations",
    "derivedAttributes",
    "capacity",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a manifest is refused, and at which part of it."""

    path: Path
    code: str
    values: dict[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a manifest gave: a draft or problems.

    Attributes:
        left_out: fields that only a server sets, by name.
        kept: fields that the form does not show, by path.
    """

    draft: Draft | None
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def take(document: object) -> Taken:
    """Take one parsed YAML document back into a draft."""
    return _Taker().take(document)


def projected(document: dict[str, Any]) -> Draft:
    """Return what a form shows of a claim or template, whatever is wrong with it."""
    return _Taker().draft(document)


class _Taker:
    """Walks a manifest and collects problems; each method takes one shape."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.left_out: list[str] = []
        self.kept: list[str] = []

    def take(self, document: object) -> Taken:
        kinds = tuple(kind.value for kind in Kind)
        if not isinstance(document, dict) or document.get("kind") not in kinds:
            value = document.get("kind", "") if isinstance(document, dict) else ""
            path: Path = ("kind",) if value else ()
            return Taken(
                None, (Problem(path, "paste.kind", {"value": str(value)[:80]}),)
            )
        if document.get("apiVersion") != API_VERSION:
            values: dict[str, str | int] = {
                "value": str(document.get("apiVersion", ""))[:80]
            }
            return Taken(None, (Problem(("apiVersion",), "paste.version", values),))
        draft = self.draft(document)
        if self.problems:
            return Taken(None, tuple(self.problems))
        return Taken(draft, (), tuple(self.left_out), tuple(self.kept))

    def _refuse(self, path: Path, code: str, **values: str | int) -> None:
        self.problems.append(Problem(path, code, values))

    def _map(
        self, parent: dict[str, Any], path: Path, known: tuple[str, ...]
    ) -> dict[str, Any]:
        """Return a mapping; what else than known keys it holds is noted as kept."""
        value = parent.get(str(path[-1]))
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._refuse(path, "paste.not_map")
            return {}
        self._only(value, path, known)
        return value

    def _only(self, value: dict[str, Any], path: Path, known: tuple[str, ...]) -> None:
        for key, inner in value.items():
            if key not in known and inner is not None:
                self.kept.append(_dotted((*path, str(key)[:80])))

    def _maps(
        self,
        parent: dict[str, Any],
        path: Path,
        known: tuple[str, ...] | None,
        most: int,
    ) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the mappings of a list with their paths."""
        for at, value in self._list(parent, path, most):
            if not isinstance(value, dict):
                self._refuse(at, "paste.not_map")
                continue
            if known is not None:
                self._only(value, at, known)
            yield at, value

    def _list(
        self, parent: dict[str, Any], path: Path, most: int
    ) -> list[tuple[Path, Any]]:
        value = parent.get(str(path[-1]))
        if value is None:
            return []
        if not isinstance(value, list):
            self._refuse(path, "paste.not_list")
            return []
        if len(value) > most:
            self._refuse(path, "paste.too_many", limit=most, count=len(value))
            return []
        return [((*path, at), each) for at, each in enumerate(value)]

    def _text(self, parent: dict[str, Any], path: Path, default: str = "") -> str:
        value = parent.get(str(path[-1]))
        if value is None:
            return default
        if not isinstance(value, str):
            self._refuse(path, "paste.not_text")
            return default
        return value

    def draft(self, document: dict[str, Any]) -> Draft:
        """Return what the form shows; what is wrong lies in `problems`."""
        self._only(document, (), ("apiVersion", "kind", "metadata", "spec", "status"))
        if document.get("status"):
            self.left_out.append("status")
        known = ("name", "namespace", "labels", "annotations", *SERVER_SETS)
        metadata = self._map(document, ("metadata",), known)
        self.left_out += [f"metadata.{key}" for key in SERVER_SETS if metadata.get(key)]
        path: Path = ("spec",)
        is_template = document.get("kind") == Kind.TEMPLATE
        keys = ("metadata", "spec") if is_template else ("devices",)
        spec = self._map(document, path, keys)
        inner: dict[str, Any] = {}
        if is_template:
            inner = self._map(spec, (*path, "metadata"), ("labels", "annotations"))
            path = ("spec", "spec")
            spec = self._map(spec, path, ("devices",))
        draft = Draft(
            kind=str(document.get("kind", "")),
            namespace=self._text(metadata, ("metadata", "namespace")),
            name=self._text(metadata, ("metadata", "name")),
            labels=self._pairs(metadata, ("metadata", "labels")),
            annotations=self._pairs(metadata, ("metadata", "annotations")),
            claim_labels=self._pairs(inner, ("spec", "metadata", "labels")),
            claim_annotations=self._pairs(inner, ("spec", "metadata", "annotations")),
            requests=(),
        )
        return self._with_devices(draft, spec, (*path, "devices"))

    def _with_devices(self, draft: Draft, spec: dict[str, Any], path: Path) -> Draft:
        devices = self._map(spec, path, ("requests", "constraints", "config"))
        requests = tuple(self._requests(devices, (*path, "requests")))
        draft = replace(draft, requests=requests)
        by_name = {name: place for place, name in places(draft).items()}
        constraints = self._constraints(devices, (*path, "constraints"), by_name)
        configs = self._configs(devices, (*path, "config"), by_name)
        return replace(draft, constraints=tuple(constraints), configs=tuple(configs))

    def _pairs(self, parent: dict[str, Any], path: Path) -> Pairs:
        value = parent.get(str(path[-1]))
        if value is None:
            return ()
        if not isinstance(value, dict):
            self._refuse(path, "paste.not_map")
            return ()
        return tuple((str(key), self._text(value, (*path, str(key)))) for key in value)

    def _requests(self, devices: dict[str, Any], path: Path) -> Iterator[RequestDraft]:
        known = ("name", EXACTLY, FIRST_AVAILABLE)
        for at, body in self._maps(devices, path, known, MAX_REQUESTS):
            name = self._text(body, (*at, "name"))
            if (body.get(EXACTLY) is None) == (body.get(FIRST_AVAILABLE) is None):
                self._refuse(at, "paste.request")
                continue
            if body.get(EXACTLY) is not None:
                where = (*at, EXACTLY)
                inner = self._map(body, where, (*_ASKED, "adminAccess"))
                yield RequestDraft(name, EXACTLY, (self._asked(inner, where),))
                continue
            rows = self._maps(
                body, (*at, FIRST_AVAILABLE), ("name", *_ASKED), MAX_ALTERNATIVES
            )
            alternatives = tuple(self._asked(inner, where) for where, inner in rows)
            yield RequestDraft(name, FIRST_AVAILABLE, alternatives)

    def _asked(self, body: dict[str, Any], path: Path) -> AlternativeDraft:
        admin = body.get("adminAccess")
        if admin is not None and not isinstance(admin, bool):
            self._refuse((*path, "adminAccess"), "paste.not_bool")
        return AlternativeDraft(
            name=self._text(body, (*path, "name")),
            device_class=self._text(body, (*path, "deviceClassName")),
            allocation_mode=self._text(body, (*path, "allocationMode"), "ExactCount"),
            count=self._count(body, (*path, "count")),
            selectors=tuple(self._selectors(body, (*path, "selectors"))),
            capacity=tuple(self._capacity(body, (*path, "capacity"))),
            tolerations=tuple(self._tolerations(body, (*path, "tolerations"))),
            derived=tuple(self._derived(body, (*path, "derivedAttributes"))),
            admin_access=admin is True,
        )

    def _derived(self, body: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
        for at, row in self._maps(body, path, ("name", "expression"), MAX_DERIVED):
            name = self._text(row, (*at, "name"))
            yield name, self._text(row, (*at, "expression"))

    def _count(self, body: dict[str, Any], path: Path) -> str:
        value = body.get("count")
        if value is None:
            return "1"
        if isinstance(value, bool) or not isinstance(value, int):
            self._refuse(path, "paste.not_int")
        if value is not None and body.get("allocationMode") == "All":
            self._refuse(path, "paste.count_with_all")
        return str(value)

    def _selectors(self, body: dict[str, Any], path: Path) -> Iterator[str]:
        for at, selector in self._maps(body, path, ("cel",), MAX_SELECTORS):
            cel = self._map(selector, (*at, "cel"), ("expression",))
            text = self._text(cel, (*at, "cel", "expression"))
            if text.strip():
                yield text.rstrip()
            else:
                self._refuse(at, "paste.selector")

    def _capacity(self, body: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
        outer = self._map(body, path, ("requests",))
        inner = outer.get("requests")
        if inner is not None and not isinstance(inner, dict):
            self._refuse((*path, "requests"), "paste.not_map")
            return
        for key, value in (inner or {}).items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._refuse((*path, "requests", str(key)), "paste.not_quantity")
            else:
                yield str(key), str(value)

    def _tolerations(
        self, body: dict[str, Any], path: Path
    ) -> Iterator[TolerationDraft]:
        known = ("key", "operator", "value", "effect", "tolerationSeconds")
        for at, row in self._maps(body, path, known, MAX_TOLERATIONS):
            seconds = row.get("tolerationSeconds")
            yield TolerationDraft(
                key=self._text(row, (*at, "key")),
                operator=self._text(row, (*at, "operator"), "Equal"),
                value=self._text(row, (*at, "value")),
                effect=self._text(row, (*at, "effect")),
                seconds="" if seconds is None else str(seconds),
            )

    def _constraints(
        self, devices: dict[str, Any], path: Path, by_name: dict[str, str]
    ) -> Iterator[ConstraintDraft]:
        known = ("requests", MATCH, DISTINCT)
        for at, body in self._maps(devices, path, known, MAX_CONSTRAINTS):
            match = self._text(body, (*at, MATCH))
            distinct = self._text(body, (*at, DISTINCT))
            if not match and not distinct:
                self._refuse(at, "paste.constraint")
            if match and distinct:
                self.kept.append(_dotted((*at, DISTINCT)))
            binds = self._binds(body, (*at, "requests"), by_name)
            kind = DISTINCT if distinct and not match else MATCH
            yield ConstraintDraft(kind, match or distinct, binds)

    def _binds(
        self, body: dict[str, Any], path: Path, by_name: dict[str, str]
    ) -> tuple[str, ...]:
        binds = []
        for where, name in self._list(body, path, MAX_REQUESTS):
            if isinstance(name, str) and name in by_name:
                binds.append(by_name[name])
            else:
                self._refuse(where, "paste.binds", value=str(name)[:130])
        return tuple(binds)

    def _configs(
        self, devices: dict[str, Any], path: Path, by_name: dict[str, str]
    ) -> Iterator[ConfigDraft]:
        for at, body in self._maps(devices, path, ("requests", "opaque"), MAX_CONFIGS):
            where = (*at, "opaque")
            opaque = self._map(body, where, ("driver", "parameters"))
            if not opaque:
                self._refuse(at, "paste.config")
            driver = self._text(opaque, (*where, "driver"))
            parameters = opaque.get("parameters")
            form, values = shown(driver, parameters)
            if form:
                known = {each.path[-1] for each in FORMS[form].parameters}
                known |= {step for each in FORMS[form].parameters for step in each.path}
                self._beside((*where, "parameters"), parameters, known)
            yield ConfigDraft(
                driver=driver,
                form=form,
                values=values,
                json="{}" if form else _json_of(parameters),
                binds=self._binds(body, (*at, "requests"), by_name),
            )

    def _beside(self, path: Path, body: Any, known: set[str]) -> None:
        """Note what a config's form does not show of its parameters."""
        for key, inner in body.items() if isinstance(body, dict) else ():
            if key not in known | {"apiVersion", "kind"}:
                self.kept.append(_dotted((*path, str(key)[:80])))
            elif key != "defaultPerDevicePinnedMemoryLimit":
                self._beside((*path, str(key)), inner, known)


def _json_of(parameters: Any) -> str:
    """Return parameters as JSON text; what JSON cannot hold as YAML's own text."""
    return json.dumps(parameters, indent=2, ensure_ascii=False, default=str)


def _dotted(path: Path) -> str:
    """Return a path as Kubernetes writes it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
