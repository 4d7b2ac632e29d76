"""Every command of the docs that is marked `sh run` is run, in its order."""

from __future__ import annotations

import json
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


def test_there_are_such_pages():
    assert {path.stem for path in PAGES} >= {"admin", "runbook"}


def test_the_bill_names_every_pinned_package():
    done = subprocess.run(
        [".venv/bin/python", "scripts/sbom.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    bill = json.loads(done.stdout)
    lock = (ROOT / "requirements" / "run.lock").read_text()
    pins = re.findall(r"^[A-Za-z0-9]\S*==", lock, re.MULTILINE)
    assert len(bill["components"]) == len(pins) > 50
    assert all(each["properties"] for each in bill["components"])
