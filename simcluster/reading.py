"""Lists and watches: selectors, pages, events and bookmarks."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple

import orjson

from simcluster import refusals
from simcluster.kinds import EVENT, POD, SLICE, Kind, Object
from simcluster.refusals import Cause, Refusal, bad_request
from simcluster.storage import Change, Store

Query = Mapping[str, str]
Filter = Callable[[Object], bool]

BOOKMARK_SECONDS = 10.0
_FIELDS = {
    POD: ("spec.nodeName", "status.phase"),
    SLICE: ("spec.nodeName", "spec.driver"),
    EVENT: (
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.uid",
        "reason",
        "type",
    ),
}
_SET = re.compile(r"([\w./-]+) +(in|notin) +\(([^()]*)\)\Z")
_EQUAL = re.compile(r"([\w./-]+) *(==|=|!=) *([\w.-]*)\Z")
_EXISTS = re.compile(r"(!?) *([\w./-]+)\Z")
_BEYOND_COMMAS = re.compile(r",(?![^(]*\))")
_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result."
    " You can start a new list without the continue parameter."
)
_NEEDS_MATCH = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"


def is_true(query: Query, name: str) -> bool:
    """Return whether a boolean parameter is set."""
    return query.get(name, "").lower() in ("1", "true")


def listing(store: Store, kind: Kind, namespace: str, query: Query) -> Object:
    """Return a list object, or a page of it.

    Raises:
        Refusal: A parameter is wrong, or the version asked for is forgotten.
    """
    _demand_list_options(query)
    chosen, limit = _filter(kind, query), _number(query, "limit")
    version, start = (
        _number(query, "resourceVersion", "invalid resource version: "),
        None,
    )
    if version > store.version:
        raise _too_large(version, store.version)
    at = version if query.get("resourceVersionMatch") == "Exact" else store.version
    if token := query.get("continue"):
        at, start = _read_token(token)
    if at < store.floor:
        raise refusals.expired(_OLD_PAGE)
    items = [each for each in store.items(kind, namespace, at) if chosen(each)]
    items = [each for each in items if start is None or _place(each) > start]
    metadata: Object = {"resourceVersion": str(at)}
    if limit and len(items) > limit:
        metadata["continue"] = _write_token(at, items[limit - 1])
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(items) - limit
        items = items[:limit]
    return {
        "kind": f"{kind.name}List",
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": items,
    }


def watching(
    store: Store, kind: Kind, namespace: str, query: Query
) -> AsyncIterator[bytes]:
    """Return the lines of a watch, whose parameters are checked at once.

    Raises:
        Refusal: A parameter is wrong.
    """
    _demand_watch_options(query)
    chosen = _filter(kind, query)
    try:
        since = _number(query, "resourceVersion")
    except Refusal as error:
        raise Refusal(500, "", str(error)) from error
    if is_true(query, "sendInitialEvents"):
        since = 0
    return _lines(_Scope(kind, namespace, chosen), store, query, since)


class _Scope(NamedTuple):
    """What a watch is about."""

    kind: Kind
    namespace: str
    chosen: Filter

    def initial(self, store: Store, query: Query, since: int) -> list[bytes]:
        """Return what a watch begins with: the state, where it is from no version."""
        if 0 < since < store.floor:
            text = f"too old resource version: {since} ({store.floor})"
            return [_line("ERROR", refusals.expired(text).status())]
        if since:
            return []
        present = filter(self.chosen, store.items(self.kind, self.namespace))
        lines = [_line("ADDED", self.kind.stamped(each)) for each in present]
        if is_true(query, "sendInitialEvents") and is_true(
            query, "allowWatchBookmarks"
        ):
            end = {"k8s.io/initial-events-end": "true"}
            lines.append(_bookmark(self.kind, store.version, end))
        return lines

    def event(self, change: Change) -> bytes:
        """Return an event as a watch with a selector sees it, or nothing."""
        if change.resource != self.kind.resource:
            return b""
        if self.namespace and self.namespace != change.key[0]:
            return b""
        was = change.prior is not None and self.chosen(change.prior)
        is_now = change.type != "DELETED" and self.chosen(change.body)
        if not was and not is_now:
            return b""
        type_ = "DELETED" if not is_now else "MODIFIED" if was else "ADDED"
        return _line(type_, self.kind.stamped(change.body))


async def _lines(
    scope: _Scope, store: Store, query: Query, since: int
) -> AsyncIterator[bytes]:
    newest, is_gone = store.version, 0 < since < store.floor
    for line in scope.initial(store, query, since):
        yield line
    told, since = time.monotonic(), since or newest
    seconds = 0 if is_gone else _number(query, "timeoutSeconds") or 1800
    ends = told + seconds
    while (left := ends - time.monotonic()) > 0:
        for change in store.since(since):
            since = change.version
            if line := scope.event(change):
                yield line
        is_due = time.monotonic() - told >= BOOKMARK_SECONDS or left <= 1
        if is_due and is_true(query, "allowWatchBookmarks"):
            told = time.monotonic()
            yield _bookmark(scope.kind, since)
        if store.version <= since:
            await store.wait(min(BOOKMARK_SECONDS, left - 1 if left > 1 else left))


def _line(type_: str, body: Object) -> bytes:
    return orjson.dumps({"type": type_, "object": body}) + b"\n"


def _bookmark(kind: Kind, version: int, annotations: Object | None = None) -> bytes:
    metadata: Object = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return _line("BOOKMARK", kind.stamped({"metadata": metadata}))


def _number(query: Query, name: str, said: str = "") -> int:
    text = query.get(name) or "0"
    if text.isdecimal():
        return int(text)
    where = f'{said}{name}: Invalid value: "{text}"'
    raise bad_request(f'{where}: strconv.ParseUint: parsing "{text}": invalid syntax')


def _demand_list_options(query: Query) -> None:
    if "sendInitialEvents" in query:
        text = "sendInitialEvents is forbidden for list"
        raise _wrong_option("sendInitialEvents", text)
    if query.get("resourceVersionMatch") and not query.get("resourceVersion"):
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise _wrong_option("resourceVersionMatch", text)


def _demand_watch_options(query: Query) -> None:
    match = query.get("resourceVersionMatch")
    if "sendInitialEvents" in query and match != "NotOlderThan":
        raise _wrong_option("resourceVersionMatch", _NEEDS_MATCH)
    if match and "sendInitialEvents" not in query:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise _wrong_option("resourceVersionMatch", text)


def _wrong_option(name: str, text: str) -> Refusal:
    return refusals.invalid_options("ListOptions", [Cause("Forbidden", name, text)])


def _too_large(version: int, newest: int) -> Refusal:
    cause = {
        "reason": "ResourceVersionTooLarge",
        "message": "Too large resource version",
    }
    text = f"Timeout: Too large resource version: {version}, current: {newest}"
    return Refusal(504, "Timeout", text, {"causes": [cause], "retryAfterSeconds": 1})


def _place(body: Object) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def _write_token(at: int, last: Object) -> str:
    return (
        base64.urlsafe_b64encode(orjson.dumps([at, *_place(last)])).decode().rstrip("=")
    )


def _read_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        at, *place = orjson.loads(base64.urlsafe_b64decode(token + "=="))
        return int(at), (str(place[0]), str(place[1]))
    except (ValueError, IndexError, TypeError) as error:
        text = f"invalid continue token: continue key is not valid: {error}"
        raise bad_request(text) from error


def _filter(kind: Kind, query: Query) -> Filter:
    tests = [_label_test(part) for part in _parts(query.get("labelSelector", ""))]
    tests += [
        _field_test(kind, part) for part in _parts(query.get("fieldSelector", ""))
    ]
    return lambda body: all(test(body) for test in tests)


def _parts(selector: str) -> list[str]:
    return [part.strip() for part in _BEYOND_COMMAS.split(selector) if part.strip()]


def _label_test(text: str) -> Filter:
    if found := _SET.match(text) or _EQUAL.match(text):
        key, operator, values = found.groups()
        wanted = {value.strip() for value in values.split(",")}
        return lambda body: (
            (_labels(body).get(key) in wanted) == (operator in ("in", "=", "=="))
        )
    if found := _EXISTS.match(text):
        return lambda body: (found[2] in _labels(body)) != (found[1] == "!")
    raise bad_request(f"unable to parse requirement: found '{text}'")


def _labels(body: Object) -> Object:
    labels: Object = body["metadata"].get("labels", {})
    return labels


def _field_test(kind: Kind, text: str) -> Filter:
    known = ("metadata.name", "metadata.namespace", *_FIELDS.get(kind, ()))
    key, operator, value, *_ = [*re.split("(!=|==?)", text, maxsplit=1), "", ""]
    if key not in known:
        listed = ", ".join(f'"{name}"' for name in known)
        raise bad_request(f'"{key}" is not a known field selector: only {listed}')
    return lambda body: (_field(body, key) == value) == (operator != "!=")


def _field(body: Object, path: str) -> str:
    found = body
    for part in path.split("."):
        found = (found or {}).get(part) or {}
    return str(found or "")
