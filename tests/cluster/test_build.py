"""Building: what is refused, what is left behind when Go fails, what is built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import build

pytestmark = pytest.mark.cluster


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Go keeps its own: what it has of its library is no part of this.
    monkeypatch.setenv("GOCACHE", str(build.cache_root().parents[1] / "go-build"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return build.cache_root()


@pytest.fixture
def hello(tmp_path: Path) -> build.Target:
    """Return a target whose one program compiles in a moment."""
    modules = tmp_path / "hello"
    modules.mkdir()
    (modules / "go.mod").write_text("module hello\n\ngo 1.26\n")
    (modules / "go.sum").write_text("")
    (modules / "main.go").write_text("package main\n\nfunc main() {}\n")
    return build.Target("hello", "1", modules, (("hello", "."),), "-s -w")


def test_every_pinned_version_is_named_by_its_minor():
    versions = build.supported_versions()

    assert list(versions) == ["1.34", "1.37"]
    assert all(version.startswith(f"{minor}.") for minor, version in versions.items())


@pytest.mark.parametrize("version", ["1.37.1", "1.12.0", "latest"])
def test_a_version_that_is_not_pinned_is_refused(version):
    with pytest.raises(
        build.BuildFailed, match=r"choose one of 1\.34\.\d+, 1\.37\.\d+"
    ):
        build.build(version)


def test_what_is_built_is_built_once(cache, hello, capsys):
    folder = build._build_target(hello)
    first = capsys.readouterr().out

    assert build._build_target(hello) == folder
    assert (folder / "hello").exists()
    assert "Built hello 1 in" in first
    assert capsys.readouterr().out == ""


def test_other_pins_are_another_folder(cache, hello):
    folder = hello.folder("go1.27.3")
    (hello.modules / "go.sum").write_text("changed\n")

    assert hello.folder("go1.27.3") != folder
    assert hello.folder("go1.27.4") != hello.folder("go1.27.3")


def test_a_failed_build_says_why_and_leaves_nothing(cache, hello):
    (hello.modules / "main.go").write_text(
        "package main\n\nfunc main() { nothing() }\n"
    )

    with pytest.raises(build.BuildFailed, match="undefined: nothing"):
        build._build_target(hello)

    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []
