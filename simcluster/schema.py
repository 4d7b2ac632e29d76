"""Bodies read by the published OpenAPI schemas: unknown fields, types, quantities."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from inventory.domain.quantity import BadQuantity, parse_quantity
from simcluster.kinds import Kind, Object
from simcluster.refusals import bad_request, undecodable

FOLDER = Path(__file__).parent / "openapi"
_NO_QUANTITY = (
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TYPES: dict[str, tuple[type, str]] = {
    "integer": (int, "int64"),
    "string": (str, "string"),
    "boolean": (bool, "bool"),
    "array": (list, "slice"),
    "object": (dict, "struct"),
}
_JSON = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}


class _Fields(dict[str, Any]):
    """A JSON object that remembers which of its fields came twice."""

    twice: tuple[str, ...] = ()


class _Place(NamedTuple):
    """Where in a body we are: the path, and the Go struct and field that hold it."""

    path: str
    struct: str
    field: str

    def child(self, name: str) -> _Place:
        dot = "." if self.path else ""
        return _Place(
            f"{self.path}{dot}{name}", self.struct, f"{self.field}{dot}{name}"
        )


def parse(kind: str, content: bytes) -> Object:
    """Return a request's JSON object.

    Raises:
        Refusal: It is none.
    """
    text = content.decode(errors="replace")
    try:
        body = json.loads(text, object_pairs_hook=_fields)
        body.twice  # noqa: B018  an object has it, nothing else does
    except (ValueError, AttributeError) as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get"
            f" version/kind; json parse error: {error} ({text[:40] or '<empty>'})"
        ) from error
    found: Object = body
    return found


def _fields(pairs: list[tuple[str, Any]]) -> _Fields:
    found = _Fields(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        found.twice = tuple(name for name in found if names.count(name) > 1)
    return found


class Schemas:
    """The schemas of one version of Kubernetes."""

    def __init__(self, version: str) -> None:
        """Read the version's files."""
        self.documents = {
            path.stem: json.loads(path.read_bytes())
            for path in sorted((FOLDER / version).glob("*.json"))
        }
        self.known = {k: v for each in self.documents.values() for k, v in each.items()}
        self._by_kind = {
            (named["group"], named["kind"]): name
            for name, schema in self.known.items()
            for named in schema.get("x-kubernetes-group-version-kind", ())
        }

    def decode(self, kind: Kind, body: Object) -> tuple[Object, list[str]]:
        """Return a body without what its kind does not have, and complaints about that.

        Raises:
            Refusal: A value is of the wrong type.
        """
        name = self._by_kind.get((kind.group, kind.name))
        if name is None:
            return body, []
        reader = _Reader(self.known, kind)
        decoded: Object = reader.value(
            self.known[name], body, _Place("", kind.name, "")
        )
        return decoded, sorted(reader.complaints)


class _Reader:
    """Reads one body."""

    def __init__(self, known: dict[str, Object], kind: Kind) -> None:
        self.known, self.kind = known, kind
        self.complaints: list[str] = []

    def value(self, schema: Object, value: Any, place: _Place) -> Any:
        while "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            place = place._replace(struct=name.rpartition(".")[2])
            schema = self.known[name]
        if place.struct == "Quantity":
            return self._quantity(value)
        kind = schema.get("type", "")
        is_raw = kind == "object" and not schema.keys() & {
            "properties",
            "additionalProperties",
        }
        if kind in _TYPES and not is_raw:
            self._check_type(kind, value, place)
        if "properties" in schema:
            return self._object(schema["properties"], value, place)
        if kind == "array":
            return [
                self.value(
                    schema["items"], each, place._replace(path=f"{place.path}[{n}]")
                )
                for n, each in enumerate(value)
            ]
        if inner := schema.get("additionalProperties"):
            return {k: self.value(inner, v, place.child(k)) for k, v in value.items()}
        return value

    def _object(self, properties: Object, value: Object, place: _Place) -> Object:
        """Read a struct; null and empty lists and maps are as good as absent."""
        for name in getattr(value, "twice", ()):
            self.complaints.append(f'duplicate field "{place.child(name).path}"')
        found = {}
        for name, inner in value.items():
            if name not in properties:
                self.complaints.append(f'unknown field "{place.child(name).path}"')
            elif inner is not None:
                read = self.value(properties[name], inner, place.child(name))
                if read not in ([], {}) or "$ref" in properties[name]:
                    found[name] = read
        return found

    def _check_type(self, kind: str, value: Any, place: _Place) -> None:
        wanted, go = _TYPES[kind]
        is_bool = isinstance(value, bool)
        if not isinstance(value, wanted) or (is_bool and wanted is not bool):
            given = _JSON.get(type(value), "object")
            raise undecodable(
                self.kind,
                f"json: cannot unmarshal {given} into Go struct field"
                f" {place.struct}.{place.field} of type {go}",
            )

    def _quantity(self, value: Any) -> str:
        try:
            return canonical(value)
        except BadQuantity as error:
            raise undecodable(self.kind, _NO_QUANTITY) from error


def canonical(text: str | int) -> str:
    """Return a quantity as Kubernetes writes it: 1024Mi is 1Gi, 1.5Gi is 1536Mi.

    Raises:
        BadQuantity: It is no quantity.
    """
    value = parse_quantity(text)
    if str(text).endswith("i") and value.denominator == 1 and abs(value) >= 1024:
        return _scaled(value, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
    return _scaled(
        value * 10**9, 1000, ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
    )


def _scaled(value: Fraction, base: int, suffixes: list[str]) -> str:
    power = 0
    while value and value % base == 0 and power < len(suffixes) - 1:
        value, power = value / base, power + 1
    return (
        f"{-(-value.numerator // value.denominator)}{suffixes[power] if value else ''}"
    )
