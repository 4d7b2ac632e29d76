"""engine/build.py: what it keeps, what it says, and what it needs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "engine"


@pytest.fixture
def build(monkeypatch, tmp_path):
    """Return a fresh build module that works on a copy of the sources.

    Go keeps its own cache, wherever a test puts ours: a cold one takes minutes.
    """
    if go := shutil.which("go"):
        kept = subprocess.run([go, "env", "GOCACHE"], capture_output=True, text=True)
        monkeypatch.setenv("GOCACHE", kept.stdout.strip())
    copy = tmp_path / "engine"
    copy.mkdir()
    for path in ENGINE.glob("*.*"):
        if path.is_file():
            shutil.copy(path, copy)
    spec = importlib.util.spec_from_file_location("engine_build", copy / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(*arguments, **env):
    return subprocess.run(
        [sys.executable, "-I", ENGINE / "build.py", *arguments],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_binary_that_is_there_is_linked_from_the_cache(tmp_path):
    done = _run("--versions", "1.37", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    again = _run("--versions", "1.37", "--out", str(tmp_path))
    assert again.stdout == "engine-1.37 is up to date\n"


def test_a_changed_source_makes_another_digest_and_versions_differ(build):
    digests = {version: build.digest(version) for version in build.VERSIONS}
    assert len(set(digests.values())) == len(build.VERSIONS)
    (build.HERE / "cel.go").write_text("package main")
    assert all(build.digest(version) != digests[version] for version in digests)
    before = build.digest("1.37")
    (build.HERE / "go.1.34.mod").write_text("module x")
    assert build.digest("1.37") == before


def test_sources_that_do_not_compile_end_in_a_sentence(
    build, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (build.HERE / "broken.go").write_text("package main\nfunc broken() { nothing() }\n")
    assert build.main(["--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert "Go did not compile the engine (version 1.37)" in error
    assert "undefined: nothing" in error
    assert not (tmp_path / "out" / "engine-1.37").exists()


def test_of_a_version_those_used_last_are_kept(build, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for age in range(build.KEPT + 2):
        for version in ("1.36", "1.37"):
            made = build.cache() / "engine" / f"{version}-{age}" / f"engine-{version}"
            made.parent.mkdir(parents=True)
            made.touch()
            os.utime(made, (1_000_000 - age, 1_000_000 - age))
    build._forget_old("engine-1.37")
    left = {path.name for path in (build.cache() / "engine").iterdir()}
    assert {name for name in left if name[:4] == "1.37"} == {
        f"1.37-{age}" for age in range(build.KEPT)
    }
    assert len(left) == 2 * build.KEPT + 2


def test_without_go_and_without_a_wheel_it_says_what_to_do(
    build, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build, "GO_WHEEL", "./no-such-wheel.whl")
    assert build.main(["--out", str(tmp_path / "out")]) == 1
    assert "install Go of 1.26 or newer" in capsys.readouterr().err


def test_a_go_that_is_too_old_is_not_used(build, tmp_path, monkeypatch):
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go1.25.3\n")
    old.chmod(0o755)
    assert build._go_version(str(old)) == (1, 25)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_install_go", lambda home: None)
    with pytest.raises(build.BuildFailed, match="does not run"):
        build.go_command()


def test_an_unknown_version_is_refused_by_name():
    done = _run("--versions", "1.33")
    assert done.returncode == 2
    assert "there is no engine for '1.33'; choose from 1.34" in done.stderr


def test_it_works_without_a_cache(build, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    made = build.build("1.37", tmp_path / "out")
    assert os.access(made, os.X_OK)
    assert not list((build.HERE / "bin").glob(".new-*"))
