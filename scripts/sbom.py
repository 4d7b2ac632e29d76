"""Write a CycloneDX 1.6 bill of materials of what the portal runs on.

    python scripts/sbom.py > sbom.json

It is made of requirements/run.lock, of the engines' go.mod and go.sum, and of what the
scripts are that Python packages carry for browsers, so that it needs no network and is
the same each time; feed it to any scanner, such as `grype sbom:sbom.json`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.build import VERSIONS  # noqa: E402  a script is in no package

LOCK = ROOT / "requirements" / "run.lock"
ENGINE = ROOT / "engine"
# (npm's name, version, the Python package whose static files they are). The version of
# the event stream's extension is written nowhere in what django-htmx carries.
SCRIPTS = (
    ("htmx-ext-sse", "", "django-htmx"),
    ("htmx.org", "2.0.10", "django-htmx"),
    ("swagger-ui-dist", "5.33.1", "drf-spectacular-sidecar"),
)
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")
_REQUIRED = re.compile(r"^(?:require )?\s*([\w.~-]+\.[^\s]+) (v\S+)", re.MULTILINE)
_SUM = re.compile(r"^(\S+) (v[^\s/]+) (h1:\S+)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(lock: str) -> list[dict[str, object]]:
    """Return one component for each pinned package, with the hashes of its files."""
    found: list[dict[str, object]] = []
    hashes: list[str] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            name, version = pin[1].lower().replace("_", "-"), pin[2]
            hashes = []
            found.append(
                {
                    "type": "library",
                    "name": name,
                    "version": version,
                    "purl": f"pkg:pypi/{name}@{version}",
                    "bom-ref": f"pkg:pypi/{name}@{version}",
                    "properties": hashes,
                }
            )
        hashes += _HASH.findall(line)
    for each in found:
        each["properties"] = [
            {"name": "slicewise:sha256", "value": digest}
            for digest in each["properties"]  # type: ignore[attr-defined]
        ]
    return found


def modules(engine: Path = ENGINE) -> list[dict[str, object]]:
    """Return one component for each version of a Go module that an engine is built from.

    Its properties name the Kubernetes minors whose engines have it, and its checksum.
    """
    found: dict[tuple[str, str], list[str]] = {}
    sums: dict[tuple[str, str], str] = {}
    for mod in sorted(engine.glob("go*.mod")):
        minor = mod.stem.removeprefix("go").removeprefix(".") or VERSIONS[-1]
        for name, version in _REQUIRED.findall(mod.read_text()):
            found.setdefault((name, version), []).append(minor)
        for name, version, digest in _SUM.findall(mod.with_suffix(".sum").read_text()):
            sums[name, version] = digest
    return [
        _component(
            f"pkg:golang/{name}@{version}",
            name,
            version,
            [
                *({"name": "slicewise:engine", "value": minor} for minor in minors),
                {"name": "slicewise:go.sum", "value": sums[name, version]},
            ],
        )
        for (name, version), minors in sorted(found.items())
    ]


def scripts() -> list[dict[str, object]]:
    """Return one component for each script of others that browsers are served."""
    return [
        _component(
            f"pkg:npm/{name}" + (f"@{version}" if version else ""),
            name,
            version,
            [{"name": "slicewise:inside", "value": f"pkg:pypi/{package}"}],
        )
        for name, version, package in SCRIPTS
    ]


def _component(
    purl: str, name: str, version: str, properties: list[dict[str, str]]
) -> dict[str, object]:
    known = {"version": version} if version else {}
    return {
        "type": "library",
        "name": name,
        **known,
        "purl": purl,
        "bom-ref": purl,
        "properties": properties,
    }


def document() -> dict[str, object]:
    """Return the whole bill."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "slicewise"}},
        "components": [*components(LOCK.read_text()), *modules(), *scripts()],
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))
