"""A text of many documents, a few places of it changed, the rest left as it was.

Comments, order and the way things are written stay: what is dumped anew is laid
over the text line by line, and only the lines that differ are taken from it.
"""

from __future__ import annotations

import difflib
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import yaml as pyyaml
from django.utils.translation import gettext as _
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from claims.services.yaml_edits import commented
from claims.services.yaml_text import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    UnreadableYaml,
    dump,
)

MOST_DOCUMENTS = 100
_MARK = re.compile(r"(?m)^(?:---|\.\.\.)(?=\s|$)(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))?")
_SEQUENCE = re.compile(
    r"(?m)^( *)(?:- +)*[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- "
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: the mark before a document, and the document's text."""

    mark: str
    text: str
    line: int

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing but comments, blanks and directives."""
        return all(
            not line.strip() or line.lstrip().startswith(("#", "%"))
            for line in self.text.splitlines()
        )


def pieces_of(text: str) -> list[Piece]:
    """Return the parts of a text, which joined are the text.

    Raises:
        UnreadableYaml: It is too long, or has too many documents.
    """
    size = len(text.encode())
    if size > MAX_BYTES:
        raise UnreadableYaml(
            _("The text is %(size)s KiB long; import at most %(limit)s KiB at a time.")
            % {"size": -(-size // 1024), "limit": MAX_BYTES // 1024}
        )
    if "\x00" in text or "\ufffd" in text:
        raise UnreadableYaml(_("This is no text: import YAML or JSON."))
    marks = list(_MARK.finditer(text))
    if len(marks) > MOST_DOCUMENTS:
        raise UnreadableYaml(
            _("There are more than %(limit)d documents; import fewer at a time.")
            % {"limit": MOST_DOCUMENTS}
        )
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    before = ["", *(mark[0] for mark in marks)]
    return [
        Piece(mark, text[start:end], text.count("\n", 0, start) + 1)
        for mark, start, end in zip(before, starts, ends, strict=True)
    ]


class Source:
    """One document that can be edited and written again.

    Attributes:
        root: what it holds; edits change it.
    """

    def __init__(self, text: str) -> None:
        """Read a document.

        Raises:
            UnreadableYaml: It is no YAML or JSON, or beyond the limits.
        """
        self.text = text
        self._is_json = text.lstrip()[:1] == "{"
        if self._is_json:
            try:
                self.root = commented(json.loads(text, object_pairs_hook=_pairs))
            except RecursionError as error:
                raise UnreadableYaml(_("It is nested too deeply.")) from error
            except ValueError:
                self._is_json = False
        if not self._is_json:
            check_limits(text)
            self.root = self._loaded(text)
        self._before = self._written()

    def _yaml(self) -> YAML:
        yaml = YAML(typ="rt", pure=True)
        yaml.preserve_quotes = True
        yaml.width = 1_000_000
        yaml.brace_single_entry_mapping_in_flow_sequence = True
        found = _SEQUENCE.search(self.text)
        offset = max(len(found[2]) - len(found[1]), 0) if found else 2
        yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
        return yaml

    def _loaded(self, text: str) -> Any:
        try:
            return self._yaml().load(text)
        except (YAMLError, ValueError, RecursionError) as error:
            raise _unreadable(error) from error

    def _written(self) -> str:
        if self._is_json:
            indent = 2 if "\n" in self.text.strip() else None
            end = "\n" if self.text.endswith("\n") else ""
            return json.dumps(self.root, indent=indent, ensure_ascii=False) + end
        out = io.StringIO()
        self._yaml().dump(self.root, out)
        return out.getvalue()

    def written(self) -> str:
        """Return the text with what was edited, all else as it was read."""
        after = self._written()
        if after == self._before:
            return self.text
        text = _laid_over(self.text, self._before, after)
        try:
            same = bool(self._is_json) or self._loaded(text) == self.root
        except UnreadableYaml:
            same = False
        if same and self._is_json:
            try:
                same = json.loads(text) == self.root
            except ValueError:
                same = False
        return text if same else after


def check_limits(text: str) -> None:
    """Refuse YAML that is too deep, too long or aliased, before it is built.

    Raises:
        UnreadableYaml: With the line.
    """
    depth = 0
    try:
        for count, event in enumerate(pyyaml.parse(text, Loader=pyyaml.CSafeLoader)):
            mark: Any = event.start_mark
            line = mark.line + 1
            if isinstance(event, pyyaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, pyyaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, pyyaml.AliasEvent):
                raise UnreadableYaml(
                    _("Aliases (*name) are not taken: write the value out in full."),
                    line,
                )
            if depth > MAX_DEPTH or count > MAX_NODES:
                raise UnreadableYaml(
                    _("The YAML is nested too deeply, or too long, for a manifest."),
                    line,
                )
    except (pyyaml.YAMLError, ValueError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> UnreadableYaml:
    """Return what a parser says as one sentence, with its line."""
    mark: Any = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).split("\n")[0]
    text = _("This is no YAML: %(problem)s.") % {"problem": problem}
    if "nesting depth" in problem:
        text = _("The YAML is nested too deeply, or too long, for a manifest.")
    return UnreadableYaml(text, mark.line + 1 if mark else None)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise UnreadableYaml(_("A key of the JSON stands there twice."))
    return body


def _laid_over(source: str, before: str, after: str) -> str:
    """Return `source` with the lines in which `after` differs from `before`."""
    if source == before:
        return after
    old, new, kept = (t.splitlines(True) for t in (before, after, source))
    places = _places(old, kept)
    hunks: list[list[int]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        while low not in places:
            low, start = low - 1, start - 1
        while high not in places:
            high, end = high + 1, end + 1
        if hunks and low < hunks[-1][1]:
            hunks[-1][1], hunks[-1][3] = max(high, hunks[-1][1]), max(end, hunks[-1][3])
        else:
            hunks.append([low, high, start, end])
    lines: list[str] = []
    done = 0
    for low, high, start, end in hunks:
        lines += kept[done : places[low]] + new[start:end]
        done = places[high]
    return "".join([*lines, *kept[done:]])


def _places(old: list[str], kept: list[str]) -> dict[int, int]:
    """Return where the gaps between lines of one text are in another, if they are."""
    places = {0: 0, len(old): len(kept)}
    matcher = difflib.SequenceMatcher(None, old, kept, autojunk=False)
    for low, start, size in matcher.get_matching_blocks():
        # A gap inside of a run of equal lines is the same gap in both.
        places |= {low + k: start + k for k in range(1, size)}
    return places


def added_text(bodies: list[dict[str, Any]]) -> str:
    """Return documents to stand behind another."""
    return "".join(f"---\n{dump(body)}" for body in bodies)


def unified(before: str, after: str, name: str) -> str:
    """Return the unified diff of two texts; empty where they are the same."""
    lines = difflib.unified_diff(
        before.splitlines(True),
        after.splitlines(True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )
