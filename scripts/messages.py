r"""Message catalogues without gettext's tools.

    python scripts/messages.py update    collect msgids, merge locale/ko/parts/*.json
    python scripts/messages.py compile   write the .mo files that Django reads
    python scripts/messages.py check     fail where a msgid has no Korean translation

`update` and `check` need Babel, a development dependency; `compile` needs polib
alone. A part is a JSON object of "English" → "한국어"; a message with a context is
"context\u0004English", one with plural forms "singular\u0000plural".
"""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polib

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "locale" / "ko"
CATALOGUE = LOCALE / "LC_MESSAGES" / "django.po"
SOURCES = ("portal", "inventory", "claims")
CONTEXT, PLURAL = "\x04", "\x00"
KEYWORDS = {
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "_": None,
    "_lazy": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
HEADER = {
    "Project-Id-Version": "slicewise",
    "Language": "ko",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Plural-Forms": "nplurals=1; plural=0;",
}


@dataclass
class Message:
    """A string to translate, and the files that it stands in."""

    context: str | None
    singular: str
    plural: str | None
    files: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """How parts name it."""
        text = self.singular + (PLURAL + self.plural if self.plural else "")
        return f"{self.context}{CONTEXT}{text}" if self.context else text


def main(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    commands = {"update": update, "compile": compile_all, "check": check}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    return commands[arguments[0]]()


def update() -> int:
    """Write the catalogue anew from the sources, the parts and what it had."""
    messages, parts = collect(), translations()
    catalogue = polib.POFile(wrapwidth=0)
    catalogue.metadata = HEADER
    for key in sorted(messages):
        message = messages[key]
        catalogue.append(_entry(message, parts.get(key, "")))
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save(str(CATALOGUE))
    print(f"{len(messages)} messages, {len(_missing(messages, parts))} without Korean")
    return 0


def _entry(message: Message, korean: str) -> polib.POEntry:
    entry = polib.POEntry(
        msgctxt=message.context,
        msgid=message.singular,
        occurrences=[(name, "") for name in sorted(message.files)],
    )
    if message.plural:
        entry.msgid_plural, entry.msgstr_plural = message.plural, {0: korean}
    else:
        entry.msgstr = korean
    if "%(" in message.singular:
        entry.flags.append("python-format")
    return entry


def compile_all() -> int:
    """Write a .mo beside each .po."""
    for path in sorted((ROOT / "locale").glob("*/LC_MESSAGES/*.po")):
        # Whole or not at all, since servers that run may read it meanwhile.
        made = path.with_suffix(f".{os.getpid()}.tmp")
        polib.pofile(str(path)).save_as_mofile(str(made))
        made.replace(path.with_suffix(".mo"))
    return 0


def check() -> int:
    """List what has no Korean, and placeholders that a translation lost."""
    messages, parts = collect(), translations()
    missing, lost = _missing(messages, parts), _lost_placeholders(messages, parts)
    for key in missing:
        print(f"no Korean: {_shown(key)}  ({', '.join(sorted(messages[key].files))})")
    for key in lost:
        print(f"placeholders differ: {_shown(key)} → {parts[key]}")
    for key in sorted(set(parts) - set(messages)):
        print(f"warning: a translation of nothing: {_shown(key)}")
    stale = not missing and not lost and _stale(messages, parts)
    if stale:
        print("locale/ko/LC_MESSAGES/django.po is behind: run `make messages`")
    return 1 if missing or lost or stale else 0


def _missing(messages: dict[str, Message], parts: dict[str, str]) -> list[str]:
    return sorted(key for key in messages if not parts.get(key))


def _lost_placeholders(
    messages: dict[str, Message], parts: dict[str, str]
) -> list[str]:
    return sorted(
        key
        for key, message in messages.items()
        if parts.get(key) and _holes(parts[key]) not in _may_have(message)
    )


def _may_have(message: Message) -> list[set[str]]:
    """Return the placeholders of each form of a message; a translation has one's."""
    return [_holes(text) for text in (message.singular, message.plural) if text]


def _holes(text: str) -> set[str]:
    """Return the placeholders of a message: %(name)s and {name}."""
    import re

    return set(re.findall(r"%\(\w+\)[sd]|\{\w*\}", text))


def _stale(messages: dict[str, Message], parts: dict[str, str]) -> bool:
    """Return whether the catalogue lacks what the sources and the parts have."""
    if not CATALOGUE.exists():
        return True
    have = _stored()
    return {key: parts[key] for key in messages} != have


def _stored() -> dict[str, str]:
    found = {}
    for entry in polib.pofile(str(CATALOGUE)):
        plural = entry.msgid_plural or None
        message = Message(entry.msgctxt, entry.msgid, plural)
        found[message.key] = entry.msgstr_plural[0] if plural else entry.msgstr
    return found


def _shown(key: str) -> str:
    return key.replace(CONTEXT, " | ").replace(PLURAL, " / ").replace("\n", "\\n")


def translations() -> dict[str, str]:
    """Return all parts together, over what the catalogue already holds.

    Raises:
        SystemExit: Two parts translate one message differently, or one is no JSON.
    """
    found = (
        {key: text for key, text in _stored().items() if text}
        if CATALOGUE.exists()
        else {}
    )
    said: dict[str, tuple[str, str]] = {}
    for path in sorted((LOCALE / "parts").glob("*.json")):
        try:
            part = json.loads(path.read_text())
        except ValueError as error:
            raise SystemExit(f"{path.name} is no JSON object: {error}") from error
        for key, text in part.items():
            other = said.setdefault(key, (path.name, text))
            if other[1] != text:
                print(
                    f"warning: {path.name} and {other[0]} differ on {_shown(key)};"
                    f" {other[0]} counts"
                )
    return found | {key: text for key, (_, text) in said.items()}


def collect() -> dict[str, Message]:
    """Return every string to translate in Python and templates, by its key."""
    found: dict[str, Message] = {}
    for name, (context, singular, plural) in _strings():
        message = Message(context, singular, plural)
        found.setdefault(message.key, message).files.add(name)
    return found


def _strings() -> Iterator[tuple[str, tuple[str | None, str, str | None]]]:
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from _strings_of(path, path.read_text())
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from _strings_of(path, _as_python(path))


def _as_python(path: Path) -> str:
    """Return a template with only its strings left, as calls in Python's way."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    from django.conf import settings

    if not settings.configured:
        settings.configure()
    from django.utils.translation.template import templatize

    return templatize(path.read_text(), origin=str(path))


def _strings_of(
    path: Path, text: str
) -> Iterator[tuple[str, tuple[str | None, str, str | None]]]:
    from babel.messages.extract import extract

    name = str(path.relative_to(ROOT))
    source = io.BytesIO(text.encode())
    for _, said, _, context in extract("python", source, keywords=KEYWORDS):
        one, many = (said, None) if isinstance(said, str) else (said[0], said[1])
        if one:
            yield name, (context, one, many)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
