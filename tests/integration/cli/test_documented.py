"""Blocks of the docs that are marked `sh api`, run by bash with curl against the portal.

They name things that a reader has and this portal may not: what is answered then is a
refusal of that thing, never that there is no such address, method or member.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portal.accounts.models import TenantNamespace
from tests.conftest import DATA

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```sh api\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").glob("*.md"))
    for number, block in enumerate(BLOCK.findall(page.read_text()))
]
# Every status is told beside the answer; a chart is one that is there.
PRELUDE = f"""
api="$SERVER/api/v1"
auth="Authorization: Bearer $TOKEN"
json="Content-Type: application/json"
curl() {{ command curl -w '%{{stderr}}status %{{http_code}}\\n' "$@"; }}
slicewise() {{ "{sys.executable}" -m slicewise_cli "$@"; }}
helm() {{ cat "{DATA / "workloads" / "vllm.yaml"}"; }}
cp "{DATA / "workloads" / "vllm.yaml"}" rendered.yaml
"""
# What a call gets that is right, or right but for the thing that it names.
FINE = {"200", "201", "202", "409", "412", "422"}


@pytest.fixture
def reader(live_server, load_fleets, ada, call, tmp_path):
    """Return a function that runs a block as an admin of the tenant."""
    for name in ("demo", "main"):
        load_fleets("nvidia-t4-l40s", name=name)
    ada.roles = ["admin"]
    ada.save()
    TenantNamespace.objects.create(
        tenant=ada.tenants.get(), cluster="main", namespace="ai-serving"
    )
    token = call(ada, days=60).token

    def run(block):
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{PRELUDE}{block}"],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "SERVER": live_server.url,
                "TOKEN": token,
                "SLICEWISE_SERVER": live_server.url,
                "SLICEWISE_TOKEN": token,
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("block", BLOCKS)
def test_what_it_sends_is_understood(block, reader):
    assert shutil.which("jq"), "The blocks want jq: install it."
    done = reader(block)

    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    found = re.findall(r"^status (\d+)$", done.stderr, re.MULTILINE)
    assert len(found) == len(re.findall(r"\bcurl ", block)), said
    assert set(found) <= FINE, said


def test_there_are_such_blocks():
    assert len(BLOCKS) >= 4
