"""Completion in each shell, by the shell itself where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from slicewise_cli.completion import candidates
from slicewise_cli.main import build_parser

# Each asks its shell what the last of the words may become; a file is no answer.
ASKED = {
    "bash": "COMP_WORDS=(slicewise get c); COMP_CWORD=2; _slicewise;"
    ' printf "%s\\n" "${COMPREPLY[@]}"',
    "zsh": "words=(slicewise get c); CURRENT=3; _slicewise",
    "fish": "complete -C'slicewise get c'",
}
# What zsh has only while somebody types.
BEFORE = {"zsh": 'compdef() { : }; compadd() { print -rl -- "${(P@)2}" }'}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], ["approve", "cel", "check", "completion", "convert", "deny", "get"]),
        (["get", "d"], ["devices"]),
        (["get", "-o", "y"], ["yaml"]),
        (["submit", "--w"], ["--wait"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["check", "claim"], []),
    ],
)
def test_commands_options_and_choices_are_known(words, expected):
    assert candidates(build_parser(), words)[: max(1, len(expected))] == expected


@pytest.mark.parametrize("shell", sorted(ASKED))
def test_a_shell_completes(shell, tmp_path):
    assert shutil.which(shell), f"{shell} completes here: install it."
    script = subprocess.run(
        [sys.executable, "-m", "slicewise_cli", "completion", shell],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    binary = tmp_path / "slicewise"
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -m slicewise_cli "$@"\n')
    binary.chmod(0o755)

    answer = subprocess.run(
        [shell, "-c", f"{BEFORE.get(shell, '')}\n{script}\n{ASKED[shell]}"],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
        },
    )

    assert answer.stdout.split() == ["claims", "classes", "clusters"], answer.stderr
