"""docs/permissions.md is the table that test_permissions tries, address by address.

SLICEWISE_WRITE_DOCS=1 writes it anew.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from tests.integration.api.test_permissions import METHODS, PAGES, ROLES, ROUTES, TABLE

FILE = Path(__file__).parents[3] / "docs" / "permissions.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
PEOPLE = {
    "anonymous": "nobody signed in",
    "ada": "who it belongs to",
    "cleo": "another tenant",
    "ben": "approver",
    "dora": "admin",
    "eli": "auditor",
}
WORDS = {"p": "✓", "a": "✓", "s": "401", "f": "403", "h": "404", "-": "405"}


def address(name):
    """Return a route's address as a document shows it."""
    path = ROUTES[name].removesuffix(r"^.*\Z")
    for kind in ("str", "path", "uuid", "int", "slug"):
        path = path.replace(f"<{kind}:", "<")
    return f"/{path}" + ("…" if name == "api:nothing" else "")


def lines(names):
    """Yield a table's lines, methods of one address together that are for the same."""
    yield f"| address | methods | {' | '.join(PEOPLE[role] for role in ROLES)} |"
    yield f"| --- | --- |{' :-: |' * len(ROLES)}"
    for name in sorted(names, key=address):
        methods = defaultdict(list)
        for method in METHODS:
            if method in TABLE[name]:
                methods[TABLE[name][method]].append(method)
        for letters, same in methods.items():
            told = " | ".join(WORDS[letter] for letter in letters)
            yield f"| `{address(name)}` | {', '.join(same)} | {told} |"


def tables():
    """Return both tables as Markdown."""
    api = {name for name in TABLE if name.startswith("api:") and name not in PAGES}
    parts = [
        "## Pages",
        "",
        *lines(set(TABLE) - api),
        "",
        "## REST API",
        "",
        *lines(api),
    ]
    return "\n".join(parts)


def test_the_document_holds_the_table_of_the_test():
    head, _begin, rest = FILE.read_text().partition(BEGIN)
    _table, _end, tail = rest.partition(END)
    wanted = f"{head}{BEGIN}\n{tables()}\n{END}{tail}"
    if os.environ.get("SLICEWISE_WRITE_DOCS"):
        FILE.write_text(wanted)
    assert FILE.read_text() == wanted
