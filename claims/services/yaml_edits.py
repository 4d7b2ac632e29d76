"""Edits of a parsed document that keep its comments, its order and its style."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    FoldedScalarString,
    LiteralScalarString,
    ScalarString,
    SingleQuotedScalarString,
)

from claims.domain.importing.edits import (
    Append,
    Drop,
    Edit,
    Path,
    Put,
    Rename,
    Wrap,
)
from claims.services.yaml_text import MAX_DEPTH, UnreadableYaml

_FOLD = re.compile(r"(?<=&&)\s+|(?<=\|\|)\s+")
_PRUNED = frozenset({"limits", "requests", "constraints", "resources"})


def commented(value: Any, depth: int = 0) -> Any:
    """Return plain JSON as ruamel's containers, so that one editor serves both."""
    if depth > MAX_DEPTH:
        raise UnreadableYaml(_("It is nested too deeply."))
    if isinstance(value, dict):
        made = CommentedMap()
        for key, inner in value.items():
            made[key] = commented(inner, depth + 1)
        return made
    if isinstance(value, list):
        return CommentedSeq(commented(inner, depth + 1) for inner in value)
    return value


def edit(root: Any, change: Edit) -> None:
    """Make one edit of a document.

    Raises:
        LookupError, TypeError: The path leads nowhere.
    """
    if isinstance(change, Put):
        _put(root, change)
    elif isinstance(change, Append):
        _append(root, change)
    elif isinstance(change, Drop):
        _drop(root, change.path)
    elif isinstance(change, Rename):
        _rename(_map_at(root, change.path[:-1]), str(change.path[-1]), change.key)
    elif isinstance(change, Wrap):
        _wrap(_map_at(root, change.path), change)
    else:
        _unwrap(_map_at(root, change.path[:-1]), str(change.path[-1]))


def _at(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step]
    return root


def _map_at(root: Any, path: Path) -> CommentedMap:
    found = _at(root, path)
    if not isinstance(found, CommentedMap):
        raise TypeError(path)
    return found


def _made(root: Any, path: Path, last: Any, after: str) -> Any:
    """Return what stands at a path; mappings on the way, and `last`, are made."""
    here = root
    for depth, step in enumerate(path):
        if isinstance(here, CommentedMap) and here.get(step) is None:
            new = last if depth == len(path) - 1 else CommentedMap()
            _inserted(here, str(step), new, after)
        here = here[step]
    return here


def _put(root: Any, change: Put) -> None:
    parent = _made(root, change.path[:-1], CommentedMap(), "")
    key = change.path[-1]
    if isinstance(parent, CommentedMap) and key not in parent:
        _inserted(parent, str(key), _styled(change.value, None), change.after)
    else:
        parent[key] = _styled(change.value, parent[key])


def _append(root: Any, change: Append) -> None:
    rows = _made(root, change.path, CommentedSeq(), change.after)
    rows.append(_styled(change.value, None))


def _inserted(parent: CommentedMap, key: str, value: Any, after: str) -> None:
    """Put a new key behind another, at the front for `^`, else at the end."""
    keys = list(parent)
    place = 0 if after == "^" else len(keys)
    if after in keys:
        place = keys.index(after) + 1
    parent.insert(place, key, value)


def _styled(value: Any, old: Any) -> Any:
    """Return a value written like the one before it."""
    if isinstance(value, str):
        return _styled_text(value, old)
    made = commented(value)
    if isinstance(old, CommentedSeq | CommentedMap) and old.fa.flow_style():
        made.fa.set_flow_style()
    return made


def _styled_text(value: str, old: Any) -> Any:
    end = "\n" if isinstance(old, str) and old.endswith("\n") else ""
    if isinstance(old, FoldedScalarString):
        text = " ".join(_FOLD.sub(" ", value).split("\n")).strip()
        folded = FoldedScalarString(text + end)
        folded.fold_pos = [m.start() for m in re.finditer(r"(?<=&&) ", text)]
        return folded
    if isinstance(old, LiteralScalarString):
        return LiteralScalarString(value.rstrip("\n") + end)
    if isinstance(old, DoubleQuotedScalarString) and '"' in value and "'" not in value:
        return SingleQuotedScalarString(value)
    return type(old)(value) if isinstance(old, ScalarString) else value


def _drop(root: Any, path: Path) -> None:
    parent = _at(root, path[:-1])
    del parent[path[-1]]
    if not parent and len(path) > 1 and path[-2] in _PRUNED:
        _drop(root, path[:-1])


def _rename(parent: CommentedMap, key: str, new: str) -> None:
    place = list(parent).index(key)
    comment = parent.ca.items.pop(key, None)
    value = parent.pop(key)
    parent.insert(place, new, value)
    if comment is not None:
        parent.ca.items[new] = comment


def _wrap(parent: CommentedMap, change: Wrap) -> None:
    """Move keys into a mapping below, each with the comment beside it."""
    place = min(list(parent).index(key) for key in change.keys)
    inner = parent.get(change.under)
    is_new = not isinstance(inner, CommentedMap) or change.under in change.keys
    made = CommentedMap() if is_new else inner
    for key in change.keys:
        comment = parent.ca.items.pop(key, None)
        made[key] = parent.pop(key)
        if comment is not None:
            made.ca.items[key] = comment
    if parent.fa.flow_style():
        made.fa.set_flow_style()
    if is_new:
        parent.insert(place, change.under, made)


def _unwrap(parent: CommentedMap, key: str) -> None:
    place = list(parent).index(key)
    inner = parent.pop(key)
    parent.ca.items.pop(key, None)
    if not isinstance(inner, CommentedMap):
        raise TypeError(key)
    for step, name in enumerate(list(inner)):
        comment = inner.ca.items.pop(name, None)
        parent.insert(place + step, name, inner[name])
        if comment is not None:
            parent.ca.items[name] = comment
