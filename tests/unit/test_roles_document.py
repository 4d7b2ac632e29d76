"""docs/roles.md says what the code does: who may do what, and whom each page admits.

SLICEWISE_WRITE_DOCS=1 writes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from portal.accounts.decorators import WORDS
from portal.accounts.domain.roles import (
    EVERYONE,
    GRANTS,
    Permission,
    Role,
    permissions_of,
)

FILE = Path(__file__).parents[2] / "docs" / "roles.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def table():
    """Return the table of permissions and roles as Markdown."""
    heads = ["may", "everyone signed in", *(role.value for role in Role)]
    rows = [heads, ["---", *[":-:"] * (len(heads) - 1)]]
    for permission in Permission:
        marks = [
            "✓" if permission in permissions_of([role.value]) else "" for role in Role
        ]
        everyone = "✓" if permission in EVERYONE else ""
        what = f"{WORDS[permission]} (`{permission.value}`)"
        rows.append([what, everyone, *marks])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_document_holds_the_table_of_the_code():
    text = FILE.read_text()
    head, _begin, rest = text.partition(BEGIN)
    _table, _end, tail = rest.partition(END)
    wanted = f"{head}{BEGIN}\n{table()}\n{END}{tail}"
    if os.environ.get("SLICEWISE_WRITE_DOCS"):
        FILE.write_text(wanted)
    assert FILE.read_text() == wanted


def test_every_permission_has_words():
    assert set(WORDS) == set(Permission)


@pytest.mark.parametrize("role", Role)
def test_no_role_loses_what_everyone_has(role):
    assert permissions_of([role.value]) >= EVERYONE


def test_an_auditor_changes_nothing():
    """What a person may change, or decide, is no auditor's."""
    changes = {Permission.MANAGE_CLUSTERS, Permission.DECIDE}
    assert not GRANTS[Role.AUDITOR] & changes
