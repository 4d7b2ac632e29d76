"""Merge patches (RFC 7386) and JSON patches (RFC 6902)."""

from __future__ import annotations

from typing import Any

from simcluster.kinds import Object
from simcluster.refusals import Refusal


def merged(target: Any, change: Any) -> Any:
    """Return a value with a merge patch applied; nothing is changed in place."""
    if not isinstance(change, dict):
        return change
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def json_patched(target: Object, steps: list[Object]) -> Object:
    """Return an object with a JSON patch applied, changed in place.

    Raises:
        Refusal: A step does not apply.
    """
    try:
        for step in steps:
            _apply(target, step)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        text = "the server rejected our request due to an error in our request"
        raise Refusal(422, "Invalid", text, {}) from error
    return target


def _apply(target: Any, step: Object) -> None:
    parts = [
        p.replace("~1", "/").replace("~0", "~") for p in step["path"].split("/")[1:]
    ]
    *above, last = parts
    for part in above:
        target = target[int(part) if isinstance(target, list) else part]
    key: Any = last
    if isinstance(target, list):
        key = len(target) if last == "-" else int(last)
    operation = step["op"]
    if operation == "add" and isinstance(target, list):
        target.insert(key, step["value"])
    elif operation in ("add", "replace"):
        if operation == "replace":
            target[key]
        target[key] = step["value"]
    elif operation == "remove":
        del target[key]
    elif operation != "test" or target[key] != step["value"]:
        raise ValueError(operation)
