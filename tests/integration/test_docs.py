"""Every command of the docs that is marked `sh run` is run, in its order."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in sorted((ROOT / "docs").glob("*.md"))
    if BLOCK.search(path.read_text())
]


@pytest.mark.parametrize("guide", PAGES, ids=lambda path: path.stem)
def test_what_it_says_works(guide, tmp_path):
    for block in BLOCK.findall(guide.read_text()):
        done = subprocess.run(
            ["bash", "-euc", block],
            cwd=ROOT,
            env=os.environ | {"COPIES": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}{done.stdout}{done.stderr}"


LINK = re.compile(r"\]\(([^)#\s]+)|(?:src|srcset)=\"([^\"]+)")
WRITTEN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_its_links_lead_somewhere(page):
    links = {one or other for one, other in LINK.findall(page.read_text())}
    inside = [link for link in links if not link.startswith(("http:", "https:"))]
    assert [link for link in inside if not (page.parent / link).exists()] == []


def test_every_picture_is_there_in_both_themes():
    script = (ROOT / "scripts" / "pictures.py").read_text()
    wanted = re.findall(r"^    \"(\w+)\": \((?:ADA|DORA)", script, re.MULTILINE)
    made = {path.stem for path in (ROOT / "docs" / "img").glob("*.png")}
    assert len(wanted) > 5
    assert made == {*wanted, *(f"{name}-dark" for name in wanted)}


def test_there_are_such_pages():
    assert {path.stem for path in PAGES} >= {"admin", "runbook"}
