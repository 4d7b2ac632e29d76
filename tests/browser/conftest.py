"""The demo, started once for all browser tests, and a Chromium that speaks to it.

Playwright's own browser download is not needed: the Chromium of the system is used,
or the one that SLICEWISE_CHROMIUM names.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from portal.demo.people import PEOPLE
from tests.folders import state_folder

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120
# Nobody waits this long unless something is broken: the machine may be a busy one.
expect.set_options(timeout=60_000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Demo:
    """A running demo: its address, its passwords by name, and its state folder."""

    address: str
    passwords: dict[str, str]
    state: Path


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    """Start the demo once for all tests of the session."""
    with running() as started:
        _lift_budgets(started.state)
        yield started


def _lift_budgets(state: Path) -> None:
    """Take the hard limits away: tests of one demo do not release all they ask for."""
    lifted = ", ".join(
        f"{name}_hard=None" for name in ("vram", "cards", "slices", "hours")
    )
    program = (
        f"from portal.budgets.models import Budget; Budget.objects.update({lifted})"
    )
    subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program],
        cwd=ROOT,
        env={**os.environ, "SLICEWISE_STATE_DIR": str(state)},
        check=True,
    )


@contextlib.contextmanager
def running(*options: str, seconds: float = READY_SECONDS) -> Iterator[Demo]:
    """Run the demo on a free port with a state of its own; stop it at the end.

    Args:
        options: further ones of the supervisor, such as --cluster real.
        seconds: within which it must be ready.
    """
    with state_folder() as state, (state / "supervisor.log").open("wb") as output:
        env = {**os.environ, "SLICEWISE_STATE_DIR": str(state)}
        migrated = [sys.executable, "-m", "tests.migrated"]
        subprocess.run(migrated, cwd=ROOT, env=env, check=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "portal.supervisor", "--port", "0", *options],
            cwd=ROOT,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            address = await_address(process, state / "supervisor.log", seconds)
            passwords = {each.username: each.password for each in PEOPLE}
            yield Demo(address, passwords, state)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def chromium() -> str | None:
    """Return the path of the Chromium to drive, or None for Playwright's own."""
    return os.environ.get("SLICEWISE_CHROMIUM") or shutil.which("chromium")


def await_address(process: subprocess.Popen[bytes], log: Path, seconds: float) -> str:
    """Return the address that the supervisor prints when all is ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("Slicewise is ready at "):
                return line.rsplit(" ", 1)[1]
        time.sleep(0.1)
    raise AssertionError(f"The demo did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    """Use the system's Chromium."""
    return {
        **browser_type_launch_args,
        "executable_path": chromium(),
        "args": FLAGS,
    }


@pytest.fixture(scope="session")
def base_url(demo: Demo) -> str:
    """Let pages be named by their path alone."""
    return demo.address


@pytest.fixture
def browser_context_args(browser_context_args: dict, demo: Demo) -> dict:
    """Open pages in English, at a laptop's size."""
    return {
        **browser_context_args,
        "base_url": demo.address,
        "locale": "en-GB",
        "viewport": {"width": 1280, "height": 800},
    }


@pytest.fixture
def no_script(browser: Browser, browser_context_args: dict) -> Iterator[BrowserContext]:
    """Yield a context whose pages run no script."""
    context = browser.new_context(**browser_context_args, java_script_enabled=False)
    yield context
    context.close()


@pytest.fixture
def sign_in(demo: Demo) -> Callable[[Page, str], None]:
    """Return a function that signs a person in and lands on the overview."""

    def enter(page: Page, name: str = "ada@orchid") -> None:
        page.goto("/sign-in/")
        page.fill("[name=username]", name)
        page.fill("[name=password]", demo.passwords[name])
        page.click("main button")
        page.wait_for_url("**/c/demo/")

    return enter


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Return a function that fails on any violation of an accessibility rule.

    Colours are those of English in every language: to measure them is what takes long.
    """

    def check(page: Page) -> None:
        english = page.locator("html").get_attribute("lang") == "en"
        rules = {"color-contrast": {"enabled": english}}
        options = {"resultTypes": ["violations"], "rules": rules}
        found = Axe().run(page, options=options).response["violations"]
        lines = [
            f"{each['id']} ({each['impact']}): {node['html'][:200]} {node['failureSummary']}"
            for each in found
            for node in each["nodes"]
        ]
        assert not lines, f"{page.url}:\n" + "\n".join(lines)

    return check
