"""The commands of the example workflow are commands of the client, in that order."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from slicewise_cli.main import build_parser

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "github-request.yaml"


def commands():
    """Yield the words of each `slicewise …` in the workflow's scripts."""
    job = yaml.safe_load(EXAMPLE.read_text())["jobs"]["train"]
    for step in job["steps"]:
        for line in step.get("run", "").splitlines():
            for part in line.replace("$(", "\n").replace("|", "\n").splitlines():
                if part.strip().startswith("slicewise "):
                    yield shlex.split(part)[1:]


def test_the_workflow_asks_waits_and_gives_back():
    given = [build_parser().parse_args(words) for words in commands()]

    assert [each.command for each in given] == ["check", "submit", "wait", "release"]
    assert given[1].key
    assert given[3].end_pods
