"""Whoever copies the commands of docs/api.md gets the whole main job done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "api.md").read_text()
SERVER = "https://gpus.example.com"


def block_under(heading):
    """Return the first shell block under a heading of the document."""
    section = DOCUMENT.partition(f"## {heading}\n")[2]
    return re.search(r"```sh client\n(.*?)```", section, re.DOTALL).group(1)


@pytest.fixture(scope="module")
def token(demo):
    """Return a token that Ada makes on the page, as a person does."""
    with httpx.Client(base_url=demo.address, follow_redirects=True) as client:

        def send(path, **data):
            page = client.get(path).text
            csrf = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            return client.post(path, data={**data, "csrfmiddlewaretoken": csrf[1]}).text

        name = "ada@orchid"
        send("/sign-in/", username=name, password=demo.passwords[name])
        scopes = ["inventory:read", "claims:check", "claims:read", "claims:write"]
        page = send("/tokens/", name="ci", days="1", scopes=scopes)
    return re.search(r"<code>(swt_[\w-]{20,})</code>", page)[1]


@pytest.fixture
def run(demo, token, tmp_path):
    """Return a function that runs a block of the document, and what it printed."""
    prelude = f'set -euo pipefail\nslicewise() {{ "{sys.executable}" -m slicewise_cli "$@"; }}\n'

    def do(script):
        done = subprocess.run(
            ["bash", "-c", prelude + script.replace(SERVER, demo.address)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "SLICEWISE_TOKEN": token,
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return do


def test_the_main_job_with_curl_and_then_with_the_client(run):
    said = run(block_under("The main job with curl"))
    assert said.count('"status":"succeeded"') == 2

    said = run(block_under("The command line"))
    assert said.count("succeeded") == 3
