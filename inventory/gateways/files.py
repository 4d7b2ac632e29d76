"""Kubernetes objects from files: JSON or YAML, a List or many documents.

What is read is untrusted: sizes and YAML aliases are bounded, and each error
names the file, the document or line, and what to do.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import yaml
from django.utils.translation import gettext as _

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

LARGEST_BYTES = 1024**3
# YAML takes minutes and gigabytes where JSON takes seconds.
LARGEST_YAML = 64 * 1024**2
_ALIAS = re.compile(r"(?m)(?:^|[\s\[,:{-])\*[A-Za-z0-9_]")
_MOST_NODES = 200_000
_LONGEST_NUMBER = 64
_LARGEST_NUMBER = 2**63 - 1


class BadFile(PortalError):
    """A file that is no set of Kubernetes objects."""

    code = "inventory.bad_file"


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: a timestamp stays a text."""

    def construct_yaml_int(self, node: Any) -> int:
        """Return a whole number.

        Raises:
            yaml.constructor.ConstructorError: No field of Kubernetes holds it.
        """
        short = len(node.value) <= _LONGEST_NUMBER
        value = int(super().construct_yaml_int(node)) if short else None
        if value is None or abs(value) > _LARGEST_NUMBER:
            raise yaml.constructor.ConstructorError(
                None, None, "a number is too long", node.start_mark
            )
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)

_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")
    ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_objects(path: str, standard_input: Any = None) -> list[Json]:
    """Return the objects of a file, lists unwrapped, in the file's order.

    Args:
        path: a path, or `-` for standard input.
        standard_input: the binary stream that `-` stands for.

    Raises:
        BadFile: It cannot be read, is cut off, or holds no Kubernetes objects.
    """
    return parse_objects(read_bytes(path, standard_input), path)


def read_bytes(path: str, standard_input: Any = None) -> bytes:
    """Return a file's bytes; arguments as for `read_objects`.

    Raises:
        BadFile: It cannot be read, or is larger than 1 GiB.
    """
    try:
        if path == "-":
            return bytes(standard_input.read(LARGEST_BYTES))
        if Path(path).stat().st_size > LARGEST_BYTES:
            raise BadFile(_("%(path)s is larger than 1 GiB.") % {"path": path})
        return Path(path).read_bytes()
    except OSError as error:
        raise BadFile(
            _("%(path)s cannot be read: %(reason)s.")
            % {"path": path, "reason": error.strerror}
        ) from error


def parse_objects(data: bytes, label: str) -> list[Json]:
    """Return the objects of a document; `label` names it in errors.

    Raises:
        BadFile: It is cut off, or holds no Kubernetes objects.
    """
    found: list[Json] = []
    for number, document in enumerate(_documents(data, label), start=1):
        if document is not None:
            found.extend(unwrap(document, f"{label}, document {number}", {}))
    if not found:
        raise BadFile(_("%(label)s holds no Kubernetes objects.") % {"label": label})
    return found


def _documents(data: bytes, label: str) -> Iterator[Any]:
    if data.lstrip()[:1] == b"{":
        try:
            yield orjson.loads(data)
        except orjson.JSONDecodeError as error:
            if b"\n---" not in data:
                raise BadFile(
                    _("%(label)s is no whole JSON document, line %(line)d: %(reason)s.")
                    % {"label": label, "line": error.lineno, "reason": error.msg}
                ) from error
        else:
            return
    yield from _yaml_documents(data, label)


def _yaml_documents(data: bytes, label: str) -> Iterator[Any]:
    if len(data) > LARGEST_YAML:
        raise BadFile(
            _("%(label)s is larger than 64 MiB of YAML: write it with -o json.")
            % {"label": label}
        )
    try:
        text = data.decode("utf-8-sig")
        documents = list(yaml.load_all(text, Loader=_Loader))
    except UnicodeDecodeError as error:
        raise BadFile(_("%(label)s is not UTF-8 text.") % {"label": label}) from error
    except RecursionError as error:
        raise BadFile(
            _("%(label)s is nested too deeply.") % {"label": label}
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise BadFile(_yaml_sentence(error, label)) from error
    if _ALIAS.search(text):
        for document in documents:
            _bounded(document, label)
    yield from documents


def _yaml_sentence(error: Exception, label: str) -> str:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else 1
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return _("%(label)s is no YAML, line %(line)d: %(problem)s.") % {
        "label": label,
        "line": line,
        "problem": problem,
    }


def _bounded(document: Any, label: str) -> None:
    """Refuse a document whose aliases would unfold to an absurd size."""
    stack, count = [document], 0
    while stack:
        count += 1
        if count > _MOST_NODES:
            raise BadFile(
                _("%(label)s unfolds its YAML aliases to too much: write them out.")
                % {"label": label}
            )
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def unwrap(document: Any, label: str, listed: Json) -> Iterator[Json]:
    """Yield the objects of a document: itself, or the items of the list that it is.

    Args:
        document: as it was read.
        label: names it in errors.
        listed: the list that holds it; a typed list alone names its items' kind.

    Raises:
        BadFile: It is no Kubernetes object.
    """
    document = _typed(document, listed) if listed.get("kind") else document
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise BadFile(
            _("%(label)s is no Kubernetes object: it has no kind.") % {"label": label}
        )
    items = document.get("items")
    if document["kind"].endswith("List") and (isinstance(items, list) or items is None):
        for number, item in enumerate(items or [], start=1):
            yield from unwrap(item, f"{label}, item {number}", document)
        return
    yield document


def _typed(item: Any, document: Json) -> Any:
    """Return an item of a typed list with the kind that only the list names."""
    if isinstance(item, dict) and "kind" not in item and document["kind"] != "List":
        kind = document["kind"].removesuffix("List")
        return {"apiVersion": document.get("apiVersion"), "kind": kind, **item}
    return item
