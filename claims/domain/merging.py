"""A document changed as a form was, with all that the form does not show left alone.

Three documents are compared: the kept one, what the form showed of it, and what
the form shows now. Where the last two agree, the kept one is not touched; so what
it leaves to defaults, and what the form knows nothing of, stays as it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]

EXACTLY = "exactly"
FIRST_AVAILABLE = "firstAvailable"


def merge(kept: Json, was: Json, now: Json, fresh: Callable[[Any], Any]) -> None:
    """Change `kept` in place so that the form would show `now` of it.

    Args:
        kept: the document, of any mapping and list types that can be changed.
        was: what the form showed of it.
        now: what the form shows.
        fresh: makes of a new value what `kept` may hold.
    """
    _turn_mode(kept, was, now)
    for key in was:
        if key not in now:
            kept.pop(key, None)
    before: str | None = None
    for key, value in now.items():
        if key not in was or value != was[key] or type(value) is not type(was[key]):
            _set(kept, key, was.get(key), value, before, fresh)
        if key in kept:
            before = key


def _set(
    kept: Json,
    key: str,
    was: Any,
    now: Any,
    before: str | None,
    fresh: Callable[[Any], Any],
) -> None:
    old = kept.get(key)
    if isinstance(old, dict) and isinstance(was, dict) and isinstance(now, dict):
        merge(old, was, now, fresh)
    elif isinstance(old, list) and isinstance(was, list) and isinstance(now, list):
        _merge_rows(old, was, now, fresh)
    elif key in kept:
        kept[key] = fresh(now)
    else:
        _insert(kept, key, fresh(now), before)


def _insert(kept: Json, key: str, value: Any, before: str | None) -> None:
    """Put a new key behind the one that it follows in Kubernetes' order."""
    names = list(kept)
    at = names.index(before) + 1 if before in names else 0 if before is None else None
    later = [(name, kept.pop(name)) for name in names[at:]] if at is not None else []
    kept[key] = value
    for name, inner in later:
        kept[name] = inner


def _merge_rows(
    old: list[Any], was: list[Any], now: list[Any], fresh: Callable[[Any], Any]
) -> None:
    # A list that the form could not show item by item is written anew.
    shown = len(old) == len(was)
    sources = sources_of(was, now) if shown else [None] * len(now)
    rows = []
    for value, at in zip(now, sources, strict=True):
        if at is None:
            rows.append(fresh(value))
        elif value == was[at]:
            rows.append(old[at])
        elif isinstance(old[at], dict) and isinstance(value, dict):
            merge(old[at], was[at], value, fresh)
            rows.append(old[at])
        else:
            rows.append(fresh(value))
    while old:
        old.pop()
    old.extend(rows)


def sources_of(was: list[Any], now: list[Any]) -> list[int | None]:
    """Return for each row which one it was: the same, else of its name, else in order."""
    found: list[int | None] = [None] * len(now)
    free = dict.fromkeys(range(len(was)))
    ways: list[Callable[[int, int], bool]] = [
        lambda i, at: at == i and len(was) == len(now) and bool(was[at] == now[i]),
        lambda i, at: bool(was[at] == now[i]),
        lambda i, at: _of_one_name(was[at], now[i]),
        lambda i, at: True,
    ]
    for way in ways:
        for i in range(len(now)):
            if found[i] is None:
                found[i] = next((at for at in free if way(i, at)), None)
                free.pop(found[i], None)  # type: ignore[arg-type]
    return found


def _of_one_name(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    return bool(one.get("name")) and one.get("name") == other.get("name")


def _turn_mode(kept: Json, was: Json, now: Json) -> None:
    """Let what stood in `exactly` become the first alternative, or the other way."""
    if EXACTLY in was and EXACTLY not in now and FIRST_AVAILABLE in now:
        for body in (kept, was):
            asked = body.pop(EXACTLY)
            asked.pop("adminAccess", None)
            body[FIRST_AVAILABLE] = [asked]
    elif FIRST_AVAILABLE in was and EXACTLY in now and len(was[FIRST_AVAILABLE]) == 1:
        for body in (kept, was):
            asked = body.pop(FIRST_AVAILABLE)[0]
            asked.pop("name", None)
            body[EXACTLY] = asked
