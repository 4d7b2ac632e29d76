"""Every command of the docs that is marked `sh run` is run, in its order."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

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


WRITTEN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Mark of a shell block → the test that runs such blocks.
RUN_BY = {
    "run": "tests/integration/test_docs.py",
    "api": "tests/integration/cli/test_documented.py",
    "client": "tests/browser/test_scripted_user.py",
    "demo": "tests/browser/guide.py",
    "cluster": "tests/cluster/test_helm.py",
    "render": "tests/cluster/test_helm.py",
    "compose": "tests/integration/operations/test_compose.py",
}
FENCE = re.compile(r"^ *```(\S[^\n]*)$", re.MULTILINE)
SHELLS = {"sh", "bash", "shell", "console", "zsh"}
# Where the shell is another's, such as a CI's, `sh elsewhere: why` says so.
ELSEWHERE = re.compile(r"elsewhere: \w.{10,}")


def not_marked(text):
    """Return what opens each shell block that no test runs and that says no reason."""
    found = []
    for opening in FENCE.findall(text):
        language, _space, mark = opening.partition(" ")
        if language in SHELLS and not (
            (language == "sh" and mark in RUN_BY) or ELSEWHERE.fullmatch(mark)
        ):
            found.append(opening)
    return found


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_every_shell_block_is_run_or_says_why_not(page):
    assert not_marked(page.read_text()) == []


def test_a_block_without_a_mark_is_seen():
    assert not_marked("```sh\nls\n```\n```bash\nls\n```\n```sh runs\n```\n") == [
        "sh",
        "bash",
        "sh runs",
    ]
    assert not_marked("```sh run\n```\n```yaml\n```\n") == []
    assert not_marked("```sh elsewhere: \n```\n") == ["sh elsewhere: "]


@pytest.mark.parametrize(("mark", "test"), RUN_BY.items())
def test_each_mark_is_read_by_its_test(mark, test):
    assert f"```sh {mark}\\n" in (ROOT / test).read_text()


# In lines of code and in words, what is not in a block that is run is there at least.
MANAGE = re.compile(r"manage\.py ([a-z_]+)((?:[ =][^`|<>\n]*)?)")
MAKE = re.compile(r"(?:^    |`)make ([a-z][\w-]*)", re.MULTILINE)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def unknown_commands(text):
    """Return commands and options of manage.py that a text names and that are not there."""
    wrong = []
    for name, rest in MANAGE.findall(text):
        if name not in get_commands():
            wrong.append(name)
            continue
        app = get_commands()[name]
        command = load_command_class(app, name) if isinstance(app, str) else app
        known = command.create_parser("manage.py", name)._option_string_actions
        wrong += [f"{name} {flag}" for flag in FLAG.findall(rest) if flag not in known]
    return wrong


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_the_commands_that_it_names_are_there(page):
    text = page.read_text()
    targets = re.findall(
        r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert [name for name in MAKE.findall(text) if name not in targets] == []
    assert unknown_commands(text) == []


def test_a_command_or_option_that_is_not_there_is_seen():
    assert unknown_commands("`manage.py dctor`, `manage.py doctor --stricter`") == [
        "dctor",
        "doctor --stricter",
    ]
    assert unknown_commands("    manage.py doctor --strict | less --none") == []


LINK = re.compile(r"\]\(([^)#\s]+)|(?:src|srcset)=\"([^\"]+)")


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
