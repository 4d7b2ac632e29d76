"""Save what the simulated API server needs of a real one's OpenAPI v3, without prose.

    python -m tests.cluster.save_openapi 1.34.4 1.37.2

writes `simcluster/openapi/<version>/<group>-<version>.json`: the schemas of the kinds below
and all that they refer to, one schema a line, so that two versions can be compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.build import say, supported_versions
from tests.cluster.controlplane import ControlPlane

FOLDER = Path(__file__).parents[2] / "simcluster" / "openapi"
DOCUMENTS = {
    "apis/resource.k8s.io/v1": None,
    "api/v1": ("Namespace", "Node", "Pod"),
}
"""Paths, each with the kinds to keep; None keeps all."""

PROSE = {
    "description",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
}


def trimmed(document: dict[str, Any], kinds: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the schemas of the kinds and of all that they refer to, without prose."""
    schemas = document["components"]["schemas"]
    wanted = [name for name, schema in schemas.items() if _is_kept(schema, kinds)]
    kept: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept[name] = _without_prose(schemas[name])
            wanted.extend(_references(kept[name]))
    return dict(sorted(kept.items()))


def _is_kept(schema: dict[str, Any], kinds: tuple[str, ...] | None) -> bool:
    named = schema.get("x-kubernetes-group-version-kind", [])
    if len(named) != 1 or named[0]["kind"].endswith("List"):
        return False
    return kinds is None or named[0]["kind"] in kinds


def _without_prose(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_prose(each) for each in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("properties"), dict):
        properties = {
            key: _without_prose(each) for key, each in node["properties"].items()
        }
        node = node | {"properties": None}
        return {**_without_prose(node), "properties": properties}
    kept = {key: _without_prose(each) for key, each in node.items() if key not in PROSE}
    if set(kept) <= {"allOf", "default"} and len(kept.get("allOf", [])) == 1:
        return kept["allOf"][0] | {k: v for k, v in kept.items() if k == "default"}
    return kept


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _references(each)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        for each in node.values():
            yield from _references(each)


def save(version: str) -> None:
    """Start a control plane of `version` and write its documents."""
    with ControlPlane(version) as cluster:
        for path, kinds in DOCUMENTS.items():
            document = cluster.admin.call("GET", f"/openapi/v3/{path}")
            name = path.removeprefix("apis/").replace("/", "-").replace("api-", "core-")
            _write(FOLDER / version / f"{name}.json", trimmed(document, kinds))


def _write(path: Path, schemas: dict[str, Any]) -> None:
    lines = [
        f"{json.dumps(name)}:{json.dumps(schema, separators=(',', ':'), sort_keys=True)}"
        for name, schema in schemas.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    say(f"{path}: {len(schemas)} schemas, {path.stat().st_size} bytes")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or supported_versions().values():
        save(wanted)
