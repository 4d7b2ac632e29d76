"""`make demo` and the quick start, as they are written, on Kubernetes itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import sync_playwright

from portal.demo.stack import free_port
from tests.browser.conftest import FLAGS, await_address, chromium
from tests.browser.guide import ROOT, blocks, follow
from tests.folders import state_folder

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture
def address() -> Iterator[str]:
    """Start what the guide says; end it with Ctrl-C, as the guide says, too."""
    with state_folder() as state, (state / "make.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-euc", blocks("quick-start.md")[0]],
            cwd=ROOT,
            env=os.environ
            | {"PORT": str(free_port()), "CLUSTER": "real"}
            | {"SLICEWISE_STATE_DIR": str(state)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield await_address(process, state / "make.log", 400)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)


def test_the_quick_start_on_a_real_control_plane(address, tmp_path):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(locale="en-GB", viewport={"width": 1280, "height": 800})
        follow(page, address, tmp_path, patience=60_000)
        browser.close()
