"""Large dumps of a cluster, read object by object, so that memory stays bounded.

`kubectl get … -o json` prints one List, however large; its items are decoded one
at a time, and whoever reads them keeps what they need.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from inventory.gateways.files import BadFile, read_objects, unwrap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOBase

Json = dict[str, Any]

LARGE_BYTES = 32 * 1024**2
_CHUNK = 4 * 1024**2
# etcd takes 1.5 MiB; what is longer without an end is no object.
_LONGEST_OBJECT = 32 * 1024**2
_SPACE = " \t\r\n"


def objects_in(path: str, standard_input: Any = None) -> Iterator[Json]:
    """Yield the objects of a file; those of a large JSON List are read one by one.

    Args:
        path: a path, or `-` for standard input, which is read whole.
        standard_input: the binary stream that `-` stands for.

    Raises:
        BadFile: It cannot be read, is cut off, or holds no Kubernetes objects; of
            a large file this is seen when the fault is reached.
    """
    if path == "-" or not _is_large_json(path):
        yield from read_objects(path, standard_input)
        return
    try:
        with Path(path).open(encoding="utf-8-sig") as text:
            yield from _Dump(text, path).objects()
    except UnicodeDecodeError as error:
        raise BadFile(_("%(label)s is not UTF-8 text.") % {"label": path}) from error


def _is_large_json(path: str) -> bool:
    try:
        if Path(path).stat().st_size <= LARGE_BYTES:
            return False
        with Path(path).open("rb") as file:
            return file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
    except OSError:
        return False  # Reading it says why.


class _Dump:
    """A JSON document as it is read: what is decoded is let go."""

    def __init__(self, text: TextIOBase, label: str) -> None:
        self._text = text
        self._label = label
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._decoder = json.JSONDecoder()

    def objects(self) -> Iterator[Json]:
        """Yield the items of a List, or the one object that it is."""
        document: Json = {}
        listed = 0
        self._take("{")
        while self._peek() != "}":
            key = self._value()
            self._take(":")
            if key == "items" and self._peek() == "[":
                for item in self._items():
                    listed += 1
                    yield from unwrap(item, f"{self._label}, item {listed}", document)
            else:
                document[str(key)] = self._value()
            if self._peek() == ",":
                self._take(",")
        self._take("}")
        if self._peek():
            raise self._bad(_("there is more after the end of the document"))
        if not listed:
            yield from unwrap(document, self._label, {})

    def _items(self) -> Iterator[Any]:
        self._take("[")
        while self._peek() != "]":
            yield self._value()
            if self._peek() == ",":
                self._take(",")
        self._take("]")

    def _peek(self) -> str:
        """Return the next letter that is no space, or "" at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def _take(self, wanted: str) -> None:
        found = self._peek()
        if found != wanted:
            raise self._bad(
                _("it ends too early")
                if not found
                else _("“%(wanted)s” was expected") % {"wanted": wanted}
            )
        self._at += 1

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or not self._more():
                    raise self._bad(str(error).partition(":")[0]) from error
                continue
            if end == len(self._buffer) and self._more():
                continue  # A number may go on.
            self._at = end
            return value

    def _more(self) -> bool:
        """Read on; return whether there was more, and not too much for one object."""
        if len(self._buffer) - self._at > _LONGEST_OBJECT:
            return False
        chunk = self._text.read(max(_CHUNK, len(self._buffer) - self._at))
        self._line += self._buffer.count("\n", 0, self._at)
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _bad(self, reason: str) -> BadFile:
        line = self._line + self._buffer.count("\n", 0, self._at)
        return BadFile(
            _("%(label)s is no whole JSON document, line %(line)d: %(reason)s.")
            % {"label": self._label, "line": line, "reason": reason}
        )
