"""Ask the vulnerability databases about everything that is pinned.

    python scripts/audit.py [--osv-url URL] [--go-database URL] [--engines 1.37,…]

pip-audit asks OSV about the Python packages of requirements/*.lock, and this script
about the scripts that they carry for browsers. govulncheck asks
Go's database about the modules that each engine is built from, and whether the engine
calls what is vulnerable in them. Both need the network, or a mirror: a server that
answers as OSV's /v1/query does, and a folder (file:///…) or server laid out as
https://vuln.go.dev.

Exit 0: nothing is known of any; 1: something is, or a database does not answer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.build import VERSIONS, cache, go_command  # noqa: E402  a script is in no package
from scripts.sbom import SCRIPTS  # noqa: E402

GOVULNCHECK = "v1.9.0"


def main() -> int:
    """Ask about everything, also where something is found on the way."""
    options = _options()
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    asked = [
        _ask(
            ", ".join(each.name for each in locks),
            *(sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps"),
            *(f"--requirement={each}" for each in locks),
            *("--vulnerability-service", "osv", "--osv-url", options.osv_url),
            *("--progress-spinner", "off"),
        )
    ]
    asked += [
        _script(name, version, options.osv_url)
        for name, version, _package in SCRIPTS
        if version
    ]
    asked += [_engine(each, options.go_database) for each in options.engines]
    return 1 if any(asked) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--osv-url", default="https://api.osv.dev/v1/query")
    parser.add_argument("--go-database", default="https://vuln.go.dev")
    parser.add_argument(
        "--engines",
        type=lambda text: [each for each in text.split(",") if each],
        default=list(VERSIONS),
        help="Kubernetes minors, separated by commas; none for Python alone",
    )
    return parser.parse_args()


def _ask(what: str, *command: str, cwd: Path = ROOT) -> int:
    print(f"\n{what}", flush=True)
    return subprocess.run(command, cwd=cwd, check=False).returncode


def _script(name: str, version: str, url: str) -> int:
    """Ask about a script that browsers are served; its version is npm's."""
    print(f"\n{name} {version}", flush=True)
    package = {"name": name, "ecosystem": "npm"}
    asked = json.dumps({"package": package, "version": version}).encode()
    request = urllib.request.Request(url, asked, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            known = json.load(answer).get("vulns", [])
    except (OSError, ValueError) as error:
        print(f"{url} does not answer: {error}")
        return 1
    for each in known:
        print(f"{name} {version} {each['id']}")
    return 1 if known else 0


def _engine(version: str, database: str) -> int:
    """Ask about the engine of one Kubernetes minor, with that minor's own modules."""
    name = "go" if version == VERSIONS[-1] else f"go.{version}"
    with tempfile.TemporaryDirectory() as folder:
        for source in (ROOT / "engine").glob("*.go"):
            shutil.copy(source, folder)
        for kind in ("mod", "sum"):
            shutil.copy(ROOT / "engine" / f"{name}.{kind}", Path(folder) / f"go.{kind}")
        tag = f"-tags=k{version.replace('.', '')}"
        command = (_govulncheck(), "-db", database, tag, ".")
        return _ask(f"engine {version}", *command, cwd=Path(folder))


def _govulncheck() -> str:
    """Return the checker of Go's database, built where it is not yet."""
    built = cache() / f"govulncheck-{GOVULNCHECK}" / "govulncheck"
    if not built.exists():
        module = f"golang.org/x/vuln/cmd/govulncheck@{GOVULNCHECK}"
        subprocess.run(
            [go_command(), "install", module],
            env={**os.environ, "GOBIN": str(built.parent), "GOFLAGS": ""},
            check=True,
        )
    return str(built)


if __name__ == "__main__":
    raise SystemExit(main())
