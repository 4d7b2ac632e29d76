"""Claims and templates of another shape than resource.k8s.io/v1 has.

Source: resource.k8s.io/v1 with strict field validation; v1alpha3 and v1beta1 put
a request's fields beside its name.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import (
    ASK_FIELDS,
    CLAIM,
    TEMPLATE,
    askings,
    devices_path,
    listed,
    requests_of,
)
from claims.domain.importing.edits import (
    Append,
    Drop,
    Edit,
    Path,
    Put,
    Rename,
    Repair,
    Unwrap,
    Wrap,
    at,
)
from claims.domain.importing.published import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

GROUP = "resource.k8s.io/"
V1 = GROUP + "v1"
CONVERTED = ("v1alpha3", "v1beta1", "v1beta2")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MODES = {"exactcount": "ExactCount", "exact": "ExactCount", "all": "All"}
_REQUEST_FIELDS = ("name", "exactly", "firstAvailable")


def version_repairs(body: Json) -> Iterator[Repair]:
    """Yield an older version of resource.k8s.io: raised, or too old for it."""
    version = str(body.get("apiVersion") or "")
    if not version.startswith(GROUP) or version == V1:
        return
    path: Path = ("apiVersion",)
    values = {"version": version.removeprefix(GROUP)[:80]}
    known = values["version"] in CONVERTED
    if not known or body.get("kind") in {"DeviceTaintRule", "ResourceSlice"}:
        yield Repair("import.old_kind", path, "" if not known else "kept", values)
        return
    yield Repair("import.version", path, "", values, (Put(path, V1),))


def shape_repairs(body: Json) -> Iterator[Repair]:
    """Yield what the API server would refuse of a claim's structure."""
    yield from _specs(body)
    yield from _devices(body)
    for path, request in requests_of(body):
        yield from _spelling(path, request, (*ASK_FIELDS, *_REQUEST_FIELDS))
        yield from _flat(path, request)
        yield from _inner_constraints(body, path, request)
        yield from _names(body, path, request)
    for ask in askings(body):
        yield from _spelling(ask.path, ask.body, (*ASK_FIELDS, *_REQUEST_FIELDS))
        yield from _values(ask.path, ask.body)
        yield from _selectors(ask.path, ask.body)
        yield from _capacity(ask.path, ask.body)
    yield from _cel_constraints(body)


def _specs(body: Json) -> Iterator[Repair]:
    """Yield a template without its second `spec`, and a claim with one."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return
    if body["kind"] == TEMPLATE and "devices" in spec and "spec" not in spec:
        edits: tuple[Edit, ...] = (Wrap(("spec",), ("devices",), "spec"),)
        yield Repair("claim.invalid", ("spec", "devices"), "no_inner_spec", {}, edits)
    if (
        body["kind"] == CLAIM
        and "devices" not in spec
        and at(spec, ("spec", "devices"))
    ):
        edits = (Unwrap(("spec", "spec")),)
        yield Repair("claim.invalid", ("spec", "spec"), "inner_spec", {}, edits)


def _devices(body: Json) -> Iterator[Repair]:
    """Yield requests that stand where `devices` belongs, or are no list."""
    base = devices_path(body)
    spec = at(body, base[:-1])
    if isinstance(spec, dict) and "devices" not in spec:
        keys = tuple(k for k in ("requests", "constraints", "config") if k in spec)
        if keys:
            edits = (Wrap(base[:-1], keys, "devices"),)
            where = (*base[:-1], keys[0])
            yield Repair("claim.invalid", where, "no_devices", {}, edits)
    requests = at(body, (*base, "requests"))
    if isinstance(requests, dict) and requests:
        path = (*base, "requests")
        yield Repair("claim.invalid", path, "one_as_list", {}, (Put(path, [requests]),))


def _flat(path: Path, request: Json) -> Iterator[Repair]:
    """Yield the fields of a request that belong into `exactly`."""
    if "firstAvailable" in request:
        return
    inner = request.get("exactly")
    keys = tuple(
        key
        for key in ASK_FIELDS
        if key in request and not (isinstance(inner, dict) and key in inner)
    )
    if not keys or not (inner is None or isinstance(inner, dict)):
        return
    wrap: tuple[Edit, ...] = (Wrap(path, keys, "exactly"),)
    values = {"fields": ", ".join(keys)}
    yield Repair("claim.invalid", path, "no_exactly", values, wrap)


def _inner_constraints(body: Json, path: Path, request: Json) -> Iterator[Repair]:
    """Yield constraints inside a request: a selector in truth, or in the wrong place."""
    for holder in (path, (*path, "exactly")):
        rows = at(body, (*holder, "constraints"))
        if not isinstance(rows, list):
            continue
        where = (*holder, "constraints")
        edits: list[Edit] = [Drop(where)]
        inner = (*path, "exactly") if "exactly" in request else path
        for row in rows:
            text = _cel_text(row)
            key = _constraint_key(row)
            if text:
                selector = {"cel": {"expression": text}}
                edits.append(Append((*inner, "selectors"), selector, "deviceClassName"))
            elif key and request.get("name"):
                bound = {"requests": [request["name"]], key: row[key]}
                edits.append(
                    Append((*devices_path(body), "constraints"), bound, "requests")
                )
            else:
                return
        has_cel = any(_cel_text(row) for row in rows)
        variant = "constraint_cel" if has_cel else "constraint_place"
        yield Repair("claim.invalid", where, variant, {}, tuple(edits))


def _cel_constraints(body: Json) -> Iterator[Repair]:
    """Yield constraints with `cel`: each is a selector of the requests that it names."""
    base = (*devices_path(body), "constraints")
    for i, row in enumerate(listed(at(body, base[:-1]), "constraints")):
        text = _cel_text(row)
        if not text or _constraint_key(row):
            continue
        names = set(map(str, listed(row, "requests")))
        edits: list[Edit] = [
            Append(
                (*ask.path, "selectors"),
                {"cel": {"expression": text}},
                "deviceClassName",
            )
            for ask in askings(body)
            if not names or ask.request in names or ask.name in names
        ]
        if not edits:
            continue
        only = len(listed(at(body, base[:-1]), "constraints")) == 1
        edits.append(Drop(base if only else (*base, i)))
        yield Repair(
            "claim.invalid", (*base, i, "cel"), "constraint_cel", {}, tuple(edits)
        )


def _cel_text(row: Any) -> str:
    cel = row.get("cel") if isinstance(row, dict) else None
    text = cel.get("expression") if isinstance(cel, dict) else cel
    return text if isinstance(text, str) else ""


def _constraint_key(row: Any) -> str:
    keys = ("matchAttribute", "distinctAttribute")
    found = (key for key in keys if isinstance(row, dict) and row.get(key))
    return next(found, "")


def _names(body: Json, path: Path, request: Json) -> Iterator[Repair]:
    """Yield names of requests and alternatives that are missing, or no names."""
    taken = {str(other.get("name") or "") for _path, other in requests_of(body)}
    yield from _name(body, path, request, f"request-{path[-1]}", taken, "")
    rows = listed(request, "firstAvailable")
    taken = {str(row.get("name") or "") for row in rows if isinstance(row, dict)}
    parent = f"{request.get('name')}/"
    for j, row in enumerate(rows):
        if isinstance(row, dict):
            where = (*path, "firstAvailable", j)
            yield from _name(body, where, row, f"alternative-{j}", taken, parent)


def _name(
    body: Json, path: Path, row: Json, default: str, taken: set[str], parent: str
) -> Iterator[Repair]:
    old = row.get("name")
    where = (*path, "name")
    if old is None or old == "":
        if default in taken:
            return
        edits: tuple[Edit, ...] = (Put(where, default, "^"),)
        yield Repair("claim.invalid", where, "name_given", {"name": default}, edits)
        return
    if not isinstance(old, str) or _NAME.fullmatch(old):
        return
    new = re.sub(r"[^a-z0-9]+", "-", old.lower()).strip("-")[:63].strip("-")
    if not new or new in taken:
        return
    edits = (Put(where, new), *_followed(body, parent + old, parent + new))
    values = {"old": old[:80], "name": new}
    yield Repair("claim.invalid", where, "name_changed", values, edits)


def _followed(body: Json, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits by which constraints and config follow a new name."""
    base = devices_path(body)
    for key in ("constraints", "config"):
        for i, row in enumerate(listed(at(body, base), key)):
            for j, name in enumerate(listed(row, "requests")):
                if name == old or str(name).startswith(old + "/"):
                    text = new + str(name).removeprefix(old)
                    yield Put((*base, key, i, "requests", j), text)


def _spelling(path: Path, body: Json, known: tuple[str, ...]) -> Iterator[Repair]:
    """Yield a key that can only be another one, misspelt."""
    names = {plain(name): name for name in known if name not in body}
    names |= {
        alias: "deviceClassName"
        for alias in ("deviceclass", "classname", "class")
        if "deviceClassName" not in body
    }
    for key in body:
        if key in known or not isinstance(key, str):
            continue
        close = difflib.get_close_matches(plain(key), names, 1, 0.85)
        if close:
            values = {"key": key[:80], "name": names[close[0]]}
            edits = (Rename((*path, key), names[close[0]]),)
            yield Repair("claim.invalid", (*path, key), "misspelt", values, edits)


def _values(path: Path, body: Json) -> Iterator[Repair]:
    """Yield counts and modes that are written otherwise, and a count of 0."""
    count = body.get("count")
    where = (*path, "count")
    if isinstance(count, str) and count.isascii() and count.isdecimal():
        edits = (Put(where, int(count)),)
        yield Repair("claim.invalid", where, "count_text", {"value": count}, edits)
    if (
        count == 0
        and not isinstance(count, bool)
        and body.get("allocationMode") != "All"
    ):
        yield Repair("claim.odd", where, "count_zero", {}, (Put(where, 1),))
    mode = body.get("allocationMode")
    right = _MODES.get(plain(mode)) if isinstance(mode, str) else None
    if right and right != mode:
        where = (*path, "allocationMode")
        values = {"value": mode, "name": right}
        yield Repair("claim.invalid", where, "mode_text", values, (Put(where, right),))


def _selectors(path: Path, body: Json) -> Iterator[Repair]:
    """Yield selectors that are no list of `cel` with an expression."""
    where = (*path, "selectors")
    rows = body.get("selectors")
    if isinstance(rows, dict | str):
        text = _selector_text(rows)
        edits = (Put(where, [{"cel": {"expression": text}}]),)
        if text:
            yield Repair("claim.invalid", where, "selector_shape", {}, edits)
        return
    for i, row in enumerate(listed(body, "selectors")):
        if isinstance(at(row, ("cel", "expression")), str):
            continue
        text = _selector_text(row)
        edits = (Put((*where, i), {"cel": {"expression": text}}),)
        if text:
            yield Repair("claim.invalid", (*where, i), "selector_shape", {}, edits)


def _selector_text(row: Any) -> str:
    """Return the expression of a selector without `cel`, or of one that is a text."""
    if isinstance(row, str):
        return row
    if not isinstance(row, dict) or len(row) != 1:
        return ""
    inner = row.get("expression", row.get("cel"))
    if isinstance(inner, dict) and set(inner) == {"expression"}:
        inner = inner["expression"]
    return inner if isinstance(inner, str) else ""


def _capacity(path: Path, body: Json) -> Iterator[Repair]:
    """Yield amounts that stand in `capacity` itself, without `requests`."""
    capacity = body.get("capacity")
    if not isinstance(capacity, dict) or not capacity or "requests" in capacity:
        return
    if all(isinstance(value, str | int) for value in capacity.values()):
        keys = tuple(str(key) for key in capacity)
        where = (*path, "capacity")
        edits = (Wrap(where, keys, "requests"),)
        yield Repair("claim.invalid", where, "capacity_shape", {}, edits)
