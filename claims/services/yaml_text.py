"""Manifests as YAML text, and YAML text as one document with its line numbers.

What comes in is a stranger's: size, depth, number of nodes and aliases are
limited before anything is built from it.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
)
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from portal.core.errors import PortalError

MAX_BYTES = 256 * 1024
MAX_NODES = 20_000
MAX_DEPTH = 32

# What some reader of YAML takes for a boolean, a null or a number.
_NOT_TEXT = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null|~|=|<<)|[-+.0-9][-+.:0-9_a-fox]*"
)


class UnreadableYaml(PortalError):
    """A text that is not one YAML document within the limits.

    Attributes:
        line: 1-based, or None where no line is at fault.
    """

    code = "yaml.unreadable"

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document that knows its lines."""

    body: Any

    def line_of(self, path: tuple[str | int, ...]) -> int | None:
        """Return the 1-based line of the deepest part of `path` that is there."""
        here, line = self.body, None
        for step in path:
            if isinstance(here, CommentedMap) and step in here:
                line = here.lc.key(step)[0] + 1
            elif isinstance(here, CommentedSeq) and isinstance(step, int):
                line = here.lc.item(step)[0] + 1
            else:
                break
            here = here[step]
        return line


def dump(manifest: dict[str, Any]) -> str:
    """Return a manifest as block-style YAML that every reader takes alike."""
    yaml = YAML(typ="rt", pure=True)
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 10_000
    out = io.StringIO()
    yaml.dump(styled(manifest), out)
    return out.getvalue()


def styled(value: Any) -> Any:
    """Return a value with each text quoted, or in a block, where it has to be."""
    if isinstance(value, dict):
        return {styled(key): styled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [styled(inner) for inner in value]
    return _styled_text(value) if isinstance(value, str) else value


def _styled_text(value: str) -> Any:
    if "\n" in value and _block_can_hold(value):
        return LiteralScalarString(value)
    if _NOT_TEXT.fullmatch(value) or not value.isprintable():
        return DoubleQuotedScalarString(value)
    return value


def _block_can_hold(value: str) -> bool:
    """Return whether a literal block keeps this text as it is."""
    lines = value.split("\n")
    return all(line.isprintable() for line in lines) and not lines[0].startswith(" ")


def load(text: str) -> Document:
    """Return the one document in `text`.

    Raises:
        UnreadableYaml: Too large, too deep, aliased, several documents or no YAML.
    """
    size = len(text.encode())
    if size > MAX_BYTES:
        raise UnreadableYaml(
            _("The YAML is %(size)s KiB long; paste at most %(limit)s KiB.")
            % {"size": -(-size // 1024), "limit": MAX_BYTES // 1024}
        )
    try:
        _check_limits(text)
        yaml = YAML(typ="rt", pure=True)
        yaml.preserve_quotes = True
        body = yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context or "").split("\n")[0]
        raise UnreadableYaml(
            _("This is no YAML: %(problem)s.") % {"problem": problem},
            mark.line + 1 if mark else None,
        ) from error
    except (YAMLError, ValueError) as error:
        raise UnreadableYaml(
            _("This is no YAML: %(problem)s.") % {"problem": str(error).split("\n")[0]}
        ) from error
    if body is None:
        raise UnreadableYaml(_("There is no YAML here: paste a claim or its template."))
    return Document(body)


def _check_limits(text: str) -> None:
    depth = documents = 0
    for count, event in enumerate(YAML(typ="safe", pure=True).parse(io.StringIO(text))):
        line = event.start_mark.line + 1
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        elif isinstance(event, DocumentStartEvent):
            documents += 1
        elif isinstance(event, AliasEvent):
            raise UnreadableYaml(
                _("Aliases (*name) are not taken: write the value out in full."), line
            )
        if documents > 1:
            raise UnreadableYaml(
                _("A second document begins here: paste one claim at a time."), line
            )
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise UnreadableYaml(
                _("The YAML is nested too deeply, or too long, for a claim."), line
            )
