"""YAML text that a form changes: comments, order and what it does not know survive.

Comments are taken out before anything is changed, each with the key or item that
it stands at, and put back where that stands afterwards. What is taken away takes
its own comments with it.
"""

from __future__ import annotations

import io
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.events import ScalarEvent
from ruamel.yaml.scalarbool import ScalarBoolean
from ruamel.yaml.scalarfloat import ScalarFloat

from claims.domain.merging import merge
from claims.services.yaml_text import load, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]
# A key of a mapping or an item of a list: the object that holds it, and where.
Place = tuple[int, str | int]

_HASH = re.compile(r"(?:^|(?<=\s))#")
# Python's own type → what a parsed document holds of it; a boolean is an int too.
_PLAIN: tuple[tuple[type, tuple[type, ...]], ...] = (
    (bool, (bool, ScalarBoolean)),
    (str, (str,)),
    (int, (int,)),
    (float, (float, ScalarFloat)),
)
_DIGIT = re.compile(r"[|>][-+]?([1-9])")
_WIDE = 1 << 30
_ITEM = re.compile(r"^( *)- ")


@dataclass(frozen=True, slots=True)
class _Comment:
    """A comment, or a blank line, at a line of the text without any; from 0."""

    line: int
    text: str
    is_full: bool = False


@dataclass(slots=True)
class _Comments:
    """What was taken out of a text.

    Attributes:
        above: place → full lines before it, blank ones too.
        beside: place → what stands at the end of its line.
        last: lines after everything.
    """

    above: dict[Place, list[str]] = field(default_factory=lambda: defaultdict(list))
    beside: dict[Place, list[str]] = field(default_factory=lambda: defaultdict(list))
    last: list[str] = field(default_factory=list)


def changed(text: str, change: Callable[[Json], None]) -> str:
    """Return the text of one mapping after a change that is made in place.

    Raises:
        UnreadableYaml: The text is no YAML that we take.
    """
    bare, lines = _without_comments(text)
    body = load(bare).body
    before = plain(body)
    comments = _placed(body, lines)
    change(body)
    if plain(body) == before:
        return text
    return _written(text, body, comments)


def merged(text: str, was: Json, now: Json) -> str:
    """Return the text so changed that a form which showed `was` of it shows `now`."""
    return changed(text, lambda body: merge(body, was, now, styled))


def plain(value: Any) -> Any:
    """Return a parsed document as Python's own types."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    for kind, types in _PLAIN:
        if isinstance(value, types):
            return kind(value)
    return None if value is None else str(value)


def _without_comments(text: str) -> tuple[str, list[_Comment]]:
    """Return the text without comments and blank lines, and those in their order."""
    lines = text.removesuffix("\n").split("\n")
    covered = _covered(text, lines)
    bare: list[str] = []
    found: list[_Comment] = []
    for at, line in enumerate(lines):
        inside = covered.get(at, [])
        hits = (hit.start() for hit in _HASH.finditer(line))
        free = (at for at in hits if not any(a <= at < b for a, b in inside))
        cut = next(free, None)
        is_blank = not line.strip() and not any(a < b for a, b in inside)
        if is_blank or (cut is not None and not line[:cut].strip()):
            found.append(_Comment(len(bare), line.strip(), is_full=True))
        elif cut is None:
            bare.append(line)
        else:
            kept = line[:cut].rstrip()
            found.append(_Comment(len(bare), line[len(kept) :].rstrip()))
            bare.append(kept)
    return "\n".join([*bare, ""]), found


def _covered(text: str, lines: list[str]) -> dict[int, list[tuple[int, int]]]:
    """Return line → (from, to) of the columns in which a text's scalars stand."""
    covered: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in YAML(typ="safe", pure=True).parse(io.StringIO(text)):
        if not isinstance(event, ScalarEvent):
            continue
        start, end = event.start_mark, event.end_mark
        last, right = end.line, end.column
        if event.style in ("|", ">"):
            last, right = _block_end(lines, start.line, start.column), 0
        for line in range(start.line, last + 1):
            left = start.column if line == start.line else 0
            covered[line].append((left, right if line == last else _WIDE))
    return covered


def _block_end(lines: list[str], start: int, column: int) -> int:
    """Return the line behind a block scalar, comments after it not counted in."""
    head = lines[start]
    outer = len(head) - len(head.lstrip(" -"))
    digit = _DIGIT.match(head[column:])
    margin = outer + int(digit[1]) if digit else 0
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip(" "))
        margin = margin or indent
        if indent < margin or indent < outer or (indent == outer and column > 0):
            return at
    return len(lines)


def _nodes(body: Any) -> Iterator[tuple[int, Place]]:
    """Yield the line and place of every key and item, outer ones first."""
    if isinstance(body, CommentedMap):
        for key, value in body.items():
            yield body.lc.key(key)[0], _place(body, str(key), value)
            yield from _nodes(value)
    elif isinstance(body, CommentedSeq):
        for at, value in enumerate(body):
            yield body.lc.item(at)[0], _place(body, at, value)
            yield from _nodes(value)


def _place(body: Any, at: str | int, value: Any) -> Place:
    """Return what tells a value wherever it moves; a scalar's place is where it is."""
    return (id(value), -1) if isinstance(value, dict | list) else (id(body), at)


def _placed(body: Any, found: list[_Comment]) -> _Comments:
    comments = _Comments()
    nodes = list(_nodes(body))
    for each in found:
        if each.is_full:
            place = next((place for line, place in nodes if line >= each.line), None)
            kept = comments.last if place is None else comments.above[place]
        else:
            here = [place for line, place in nodes if line == each.line]
            before = [place for line, place in nodes if line < each.line]
            place = here[0] if here else before[-1] if before else None
            kept = comments.last if place is None else comments.beside[place]
        kept.append(each.text)
    return comments


def _written(text: str, body: Any, comments: _Comments) -> str:
    yaml = YAML(typ="rt", pure=True)
    offset = _offset(text)
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    yaml.width = 1_000_000
    yaml.preserve_quotes = True
    yaml.explicit_start = text.startswith("---")
    out = io.StringIO()
    yaml.dump(body, out)
    bare = out.getvalue()
    for blanks in (True, False):
        full = _with_comments(bare, body, comments, blanks=blanks)
        if plain(load(full).body) == plain(body):
            return full
    return bare


def _offset(text: str) -> int:
    """Return how far the items of a text's lists stand inside their key: 0 or 2."""
    lines = [line for line in text.split("\n") if line.strip()]
    for above, line in itertools.pairwise(lines):
        if (hit := _ITEM.match(line)) and above.rstrip().endswith(":"):
            head = above.lstrip(" -")
            return 2 if len(hit[1]) > len(above) - len(head) else 0
    return 2


def _with_comments(bare: str, body: Any, comments: _Comments, *, blanks: bool) -> str:
    lines = bare.rstrip("\n").split("\n")
    above: dict[int, list[str]] = defaultdict(list)
    full: set[int] = set()
    for place, line in _lines_of(body, load(bare).body):
        margin = lines[line][: len(lines[line]) - len(lines[line].lstrip(" "))]
        over = [each for each in comments.above.get(place, ()) if each or blanks]
        beside = comments.beside.get(place, [])
        if beside and line not in full:
            lines[line] += beside[0]
            full.add(line)
            beside = beside[1:]
        above[line] += [
            f"{margin}{each.lstrip()}".rstrip() for each in (*over, *beside)
        ]
    whole = [each for at, line in enumerate(lines) for each in (*above[at], line)]
    whole += [each for each in comments.last if each or blanks]
    return "\n".join(whole) + "\n"


def _lines_of(body: Any, written: Any) -> Iterator[tuple[Place, int]]:
    """Yield each place of `body` with its line in the same document as written."""
    if isinstance(body, dict) and isinstance(written, CommentedMap):
        for key, value in body.items():
            yield _place(body, str(key), value), written.lc.key(key)[0]
            yield from _lines_of(value, written[key])
    elif isinstance(body, list) and isinstance(written, CommentedSeq):
        for at, value in enumerate(body):
            yield _place(body, at, value), written.lc.item(at)[0]
            yield from _lines_of(value, written[at])
