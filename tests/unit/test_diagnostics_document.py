"""docs/diagnostics.md says what the code finds: every code, its level, its sentences.

SLICEWISE_WRITE_DOCS=1 writes it anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from claims.domain.checks.findings import CATALOGUE
from claims.services.finding_sentences import SENTENCES

FILE = Path(__file__).parents[2] / "docs" / "diagnostics.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def code_of(key):
    """Return the code that a sentence is of: its first two parts."""
    return ".".join(key.split(".")[:2])


def table():
    """Return every code in the catalogue's order, with its level and sentences."""
    lines = ["| code | level | says |", "|---|---|---|"]
    for code, level in CATALOGUE.items():
        said = [
            re.sub(r"%\((\w+)\)s", r"*\1*", str(text)).replace("|", "\\|")
            for key, text in SENTENCES.items()
            if code_of(key) == code
        ]
        lines.append(f"| `{code}` | {level.value} | {'<br>'.join(said)} |")
    return "\n".join(lines)


def test_the_document_holds_the_catalogue_of_the_code():
    text = FILE.read_text()
    head, _begin, rest = text.partition(BEGIN)
    _table, _end, tail = rest.partition(END)
    wanted = f"{head}{BEGIN}\n{table()}\n{END}{tail}"
    if os.environ.get("SLICEWISE_WRITE_DOCS"):
        FILE.write_text(wanted)
    assert FILE.read_text() == wanted


def test_every_code_has_a_sentence_and_every_sentence_a_code():
    assert {code_of(key) for key in SENTENCES} == set(CATALOGUE)
