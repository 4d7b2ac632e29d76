"""Write a CycloneDX 1.6 bill of materials of what the portal runs on.

    python scripts/sbom.py > sbom.json

It is made of requirements/run.lock alone, so that it needs no network and is the same
each time; feed it to any scanner, such as `pip-audit` or `grype sbom:sbom.json`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements" / "run.lock"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")
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


def document() -> dict[str, object]:
    """Return the whole bill."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "slicewise"}},
        "components": components(LOCK.read_text()),
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))
