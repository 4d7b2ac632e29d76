"""Every field that a real API server has for a claim is reached: in the form, or as YAML.

The schemas are those that `tests/cluster/save_openapi.py` stored of real servers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from claims.domain.compose import to_manifest
from claims.domain.pasted import projected
from claims.services.writing import from_yaml, manifest_of, rebased
from claims.services.yaml_text import dump

OPENAPI = Path(__file__).parents[3] / "simcluster" / "openapi"
VERSIONS = sorted(path.name for path in OPENAPI.iterdir())
V1 = "io.k8s.api.resource.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
TEXTS = {
    "operator": "Exists",
    "effect": "NoExecute",
    "allocationMode": "ExactCount",
    "driver": "gpu.example.com",
}
# Reached as YAML alone: behind gates that are off everywhere, or hardly ever a tenant's.
ONLY_YAML = {
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
}


class Schema:
    def __init__(self, version):
        path = OPENAPI / version / "resource.k8s.io-v1.json"
        self.known = json.loads(path.read_text())

    def leaves(self, name, path=()):
        """Yield the path of every field, `[]` for an item of a list."""
        for key, field in self.known[name].get("properties", {}).items():
            yield from self._of(field, (*path, key))

    def _of(self, field, path):
        if "items" in field:
            yield from self._of(field["items"], (*path, "[]"))
        elif "allOf" in field:
            yield from self._of(field["allOf"][0], path)
        elif (name := field.get("$ref", "").rpartition("/")[2]) and self.known.get(
            name, {}
        ).get("properties"):
            yield from self.leaves(name, path)
        elif "additionalProperties" in field:
            yield path, {"example": "1"}
        elif name.endswith("RawExtension"):
            yield path, {"apiVersion": "example.com/v1", "kind": "Deep", "a": [1]}
        else:
            kinds = {"boolean": True, "integer": 3}
            yield path, kinds.get(field.get("type"), TEXTS.get(path[-1], "text"))


def put(body, path, value):
    """Put a value where a path leads, making what is missing on the way."""
    head, *rest = path
    if not rest:
        body[head] = value
    elif rest[0] == "[]":
        rows = body.setdefault(head, [])
        if len(rest) == 1:
            rows.append(value)
            return
        if not rows:
            rows.append({})
        put(rows[0], rest[1:], value)
    else:
        put(body.setdefault(head, {}), rest, value)


def got(body, path):
    for step in path:
        if step == "[]":
            body = body[0] if isinstance(body, list) and body else None
        else:
            body = body.get(step) if isinstance(body, dict) else None
    return body


def document(kind, path, value):
    """Return a claim that is right but for the field, which it has as well."""
    devices = {"requests": [{"name": "a"}]}
    listed = "firstAvailable" in path
    asked = {"deviceClassName": "gpu.example.com"}
    devices["requests"][0] |= (
        {"firstAvailable": [{"name": "b", **asked}]} if listed else {"exactly": asked}
    )
    if "config" in path:
        opaque = {"driver": "gpu.example.com", "parameters": {}}
        devices["config"] = [{"opaque": opaque}]
    if "constraints" in path and path[-1] != "distinctAttribute":
        devices["constraints"] = [{"matchAttribute": "a.example.com/b"}]
    if "selectors" in path:
        value = "true"
    if path[-2:] == ("requests", "[]"):
        value = "a/b" if listed else "a"
    spec = {"devices": devices}
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "c", "namespace": "d"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }
    put(body["spec"], path, value)
    return body, value


def fields():
    for version in VERSIONS:
        schema = Schema(version)
        for kind in ("ResourceClaim", "ResourceClaimTemplate"):
            for path, value in schema.leaves(f"{V1}{kind}Spec"):
                name = ".".join(path).replace(".[]", "[]")
                yield pytest.param(kind, path, value, id=f"{version}-{kind}-{name}")


@pytest.mark.parametrize(("kind", "path", "value"), list(fields()))
def test_every_field_of_the_server_is_reached(kind, path, value):
    body, value = document(kind, path, value)
    found = from_yaml(dump(body))
    assert found.problems == ()
    in_form = got(to_manifest(projected(body)), ("spec", *path)) == value
    is_meta = kind == "ResourceClaimTemplate" and path[0] == "metadata"
    only_yaml = is_meta and bool(ONLY_YAML & set(path))
    assert in_form is not only_yaml
    assert bool(found.kept) is only_yaml
    # Whichever way it is reached, it is sent, and stays when something else changes.
    for draft in (found.draft, rebased(replace(found.draft, name="other"))):
        assert got(manifest_of(draft), ("spec", *path)) == value


def test_the_walk_sees_what_a_server_would_add():
    schema = Schema(VERSIONS[-1])
    name = f"{V1}ExactDeviceRequest"
    schema.known[name]["properties"]["brandNew"] = {"type": "string"}
    paths = [path for path, _value in schema.leaves(f"{V1}ResourceClaimSpec")]
    (path,) = [path for path in paths if path[-1] == "brandNew"]
    body, _value = document("ResourceClaim", path, "text")
    assert got(to_manifest(projected(body)), ("spec", *path)) is None
    assert from_yaml(dump(body)).kept == ("spec.devices.requests[0].exactly.brandNew",)
