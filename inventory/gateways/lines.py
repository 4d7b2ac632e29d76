"""Where in a file a field of an object stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST_BYTES = 8 * 1024**2
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")
# Steps that an older API version does not have.
_OPTIONAL = frozenset({"exactly"})


def line_finders(data: bytes) -> list[Callable[[str, int], int | None]]:
    """Return, for each object of a file in its order, a function from path to line.

    The function takes a path such as `spec.requests[0].count` and a line inside
    the value, both as findings carry them, and returns a 1-based line of the
    file: that of the deepest step that is there. Empty for a file over 8 MiB or
    one that is no YAML.
    """
    if len(data) > LARGEST_BYTES:
        return []
    try:
        documents = list(yaml.compose_all(data.decode("utf-8-sig"), yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    return [_finder(node) for document in documents for node in _objects(document)]


def _objects(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Yield the objects of a document, lists unwrapped."""
    if not isinstance(node, yaml.MappingNode):
        return
    kind = _child(node, "kind")
    items = _child(node, "items")
    if (
        isinstance(kind, yaml.ScalarNode)
        and kind.value.endswith("List")
        and isinstance(items, yaml.SequenceNode)
    ):
        for item in items.value:
            yield from _objects(item)
        return
    yield node


def _child(node: yaml.Node, step: str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next(
            (value for key, value in node.value if getattr(key, "value", None) == step),
            None,
        )
    if isinstance(node, yaml.SequenceNode) and step.isdigit():
        position = int(step)
        return node.value[position] if position < len(node.value) else None
    return None


def _finder(root: yaml.MappingNode) -> Callable[[str, int], int | None]:
    def find(path: str, line: int) -> int | None:
        node: yaml.Node = root
        whole = True
        for plain, inner in _STEP.findall(path):
            step = plain or inner
            child = _child(node, step)
            if child is None and step in _OPTIONAL:
                continue
            if child is None:
                whole = False
                break
            node = child
        start = int(node.start_mark.line) + 1
        if whole and isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
            return start + 1 + (line - 1 if node.style == "|" else 0)
        return start

    return find
