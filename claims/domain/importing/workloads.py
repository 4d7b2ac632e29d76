"""Pods that ask for GPUs as device plugins serve them, turned to claims.

Source: core/v1 ResourceRequirements, PodResourceClaim; NVIDIA's device plugin for
the names `nvidia.com/gpu`, `nvidia.com/mig-…` and `….shared`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import TEMPLATE, listed
from claims.domain.importing.edits import (
    Append,
    Drop,
    Edit,
    Path,
    Put,
    Repair,
    Unwrap,
    at,
)
from claims.domain.importing.published import CAPACITY, Published

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

REF = "gpu"
V1 = "resource.k8s.io/v1"
_PATHS: dict[str, Path] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        (
            "Deployment",
            "StatefulSet",
            "DaemonSet",
            "ReplicaSet",
            "ReplicationController",
            "Job",
        ),
        ("spec", "template", "spec"),
    ),
    "PodTemplate": ("template", "spec"),
}
WORKLOADS = frozenset(_PATHS)
_GPU = re.compile(
    r"(?P<domain>[a-z0-9.-]+)/(?P<what>gpu|mig-[\w.+-]+?)(?P<shared>[.-]shared)?"
)
_MIG = re.compile(r"mig-(\d+g\.\d+gb(?:[.+-]me(?:\.all)?)?)")
_LONGEST = 50


def pod_path(body: Json) -> Path:
    """Return where a workload keeps its pod's spec."""
    return _PATHS[body["kind"]]


def workload_repairs(body: Json, known: Published) -> Iterator[Repair]:
    """Yield what a pod's spec must say otherwise to get its devices by claim."""
    base = pod_path(body)
    spec = at(body, base)
    if not isinstance(spec, dict):
        return
    yield from _sources(base, spec)
    yield from _limits(body, base, spec, known)
    yield from _references(base, spec)
    yield from _runtime(base, spec)


def _containers(base: Path, spec: Json) -> Iterator[tuple[Path, Json]]:
    for key in ("initContainers", "containers"):
        for i, container in enumerate(listed(spec, key)):
            if isinstance(container, dict):
                yield (*base, key, i), container


def _sources(base: Path, spec: Json) -> Iterator[Repair]:
    """Yield the `source` that pods of 1.26 to 1.30 had around a claim's name."""
    for i, row in enumerate(listed(spec, "resourceClaims")):
        if isinstance(row, dict) and isinstance(row.get("source"), dict):
            path = (*base, "resourceClaims", i, "source")
            yield Repair("import.pod_claims", path, "source", {}, (Unwrap(path),))
    for path, container in _containers(base, spec):
        rows = at(container, ("resources", "claims"))
        for i, row in enumerate(rows if isinstance(rows, list) else ()):
            if isinstance(row, str):
                where = (*path, "resources", "claims", i)
                edits = (Put(where, {"name": row}),)
                yield Repair("import.pod_claims", where, "text", {}, edits)


def _asked(container: Json) -> Iterator[tuple[str, int, re.Match[str]]]:
    """Yield name, number and parts of each GPU resource that a container asks for."""
    merged: Json = {}
    for key in ("requests", "limits"):
        rows = at(container, ("resources", key))
        merged |= rows if isinstance(rows, dict) else {}
    for name, amount in merged.items():
        parts = _GPU.fullmatch(str(name))
        text = str(amount)
        if parts and text.isascii() and text.isdecimal():
            yield str(name), int(text), parts


def _limits(body: Json, base: Path, spec: Json, known: Published) -> Iterator[Repair]:
    """Yield one repair for all extended resources of a pod: one template, one claim."""
    asked = [
        (path, name, count, parts)
        for path, container in _containers(base, spec)
        for name, count, parts in _asked(container)
    ]
    if not asked:
        return
    requests: list[Json] = []
    edits: list[Edit] = []
    for path, name, count, parts in asked:
        exactly, why = _exactly(name, count, parts, known)
        if exactly is None:
            where = (*path, "resources", "limits", name)
            values = {"resource": name, "known": ", ".join(sorted(known.classes))}
            yield Repair("import.extended_resource", where, why, values, about=name)
            return
        container = at(body, path)
        edits += _without(path, container, name)
        if count:
            label = f"{container.get('name') or path[-1]}-{len(requests)}"
            request = REF if len(asked) == 1 else _label(f"gpu-{label}")
            requests.append({"name": request, "exactly": exactly})
            row: Json = {"name": REF}
            if len(asked) > 1:
                row["request"] = request
            edits.append(Append((*path, "resources", "claims"), row))
    where = (*asked[0][0], "resources", "limits", asked[0][1])
    values = {"resource": ", ".join(dict.fromkeys(name for _p, name, _c, _m in asked))}
    if not requests:
        return
    name = template_name(body)
    if any(
        row.get("name") == REF
        for row in listed(spec, "resourceClaims")
        if isinstance(row, dict)
    ):
        yield Repair(
            "import.extended_resource", where, "taken", {**values, "name": REF}
        )
        return
    edits.append(
        Append(
            (*base, "resourceClaims"),
            {"name": REF, "resourceClaimTemplateName": name},
        )
    )
    mapped = [
        known_name
        for known_name, known_class in known.classes.items()
        if (known_class.get("spec") or {}).get("extendedResourceName")
        in values["resource"].split(", ")
    ]
    yield Repair(
        "import.extended_resource",
        where,
        "mapped" if mapped else "",
        {**values, "template": name, "classes": ", ".join(mapped)},
        tuple(edits),
        adds=(_template(name, body, requests),),
    )


def _without(path: Path, container: Json, name: str) -> Iterator[Edit]:
    for key in ("limits", "requests"):
        if name in (at(container, ("resources", key)) or {}):
            yield Drop((*path, "resources", key, name))


def _exactly(
    name: str, count: int, parts: re.Match[str], known: Published
) -> tuple[Json | None, str]:
    """Return the request that stands for an extended resource, or why there is none."""
    domain = parts["domain"]
    mig = _MIG.fullmatch(parts["what"])
    class_name = known.class_like(name)
    if not class_name:
        wanted = f"{'mig' if mig else 'gpu'}.{domain}"
        class_name = wanted if wanted in known.classes else ""
    if not class_name:
        return None, "no_class"
    exactly: Json = {"deviceClassName": class_name, "count": max(count, 1)}
    if mig:
        driver = known.driver_of(class_name) or f"gpu.{domain}"
        profile = re.sub(r"[.-](?=me)", "+", mig[1])
        text = f'device.attributes["{driver}"].profile == "{profile}"'
        exactly["selectors"] = [{"cel": {"expression": text}}]
    if parts["shared"]:
        driver = known.driver_of(class_name)
        keys = {place.key for place in known.places(driver, CAPACITY)}
        if "shares" not in keys:
            return None, "no_shares"
        text = "device.allowMultipleAllocations"
        exactly["selectors"] = [
            *exactly.get("selectors", []),
            {"cel": {"expression": text}},
        ]
        exactly["capacity"] = {"requests": {"shares": "1"}}
    return exactly, ""


def template_name(body: Json) -> str:
    """Return the name of the template made for a workload."""
    metadata = body.get("metadata") or {}
    stem = metadata.get("name") or metadata.get("generateName") or body["kind"]
    return _label(f"{str(stem)[:_LONGEST]}-gpu")


def _label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-") or REF


def _template(name: str, body: Json, requests: list[Json]) -> Json:
    metadata: Json = {"name": name}
    namespace = (body.get("metadata") or {}).get("namespace")
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": V1,
        "kind": TEMPLATE,
        "metadata": metadata,
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def _references(base: Path, spec: Json) -> Iterator[Repair]:
    """Yield containers that name a claim which the pod does not have."""
    rows = listed(spec, "resourceClaims")
    names = [str(row.get("name")) for row in rows if isinstance(row, dict)]
    used: set[str] = set()
    for path, container in _containers(base, spec):
        claims = at(container, ("resources", "claims"))
        for i, row in enumerate(claims if isinstance(claims, list) else ()):
            name = row.get("name") if isinstance(row, dict) else None
            used.add(str(name))
            if isinstance(name, str) and name not in names:
                where = (*path, "resources", "claims", i, "name")
                values = {"name": name[:80], "known": ", ".join(names)}
                edits = (Put(where, names[0]),) if len(names) == 1 else ()
                variant = "unknown" if edits else "none"
                yield Repair("import.pod_claims", where, variant, values, edits)
    for i, name in enumerate(names):
        if name not in used and not used & set(names):
            where = (*base, "resourceClaims", i)
            yield Repair("import.pod_claims", where, "unused", {"name": name[:80]})


def _runtime(base: Path, spec: Json) -> Iterator[Repair]:
    """Yield NVIDIA's runtime class, where devices come by claim."""
    if spec.get("runtimeClassName") == "nvidia" and spec.get("resourceClaims"):
        path = (*base, "runtimeClassName")
        yield Repair("import.runtime_class", path, "", {}, (Drop(path),))


def compute_domain_notes(body: Json) -> Iterator[Repair]:
    """Yield what is worth knowing of a ComputeDomain; it is kept as it is."""
    if at(body, ("spec", "numNodes")) not in (None, 0):
        yield Repair("import.compute_domain", ("spec", "numNodes"), "num_nodes")
    name = at(body, ("spec", "channel", "resourceClaimTemplate", "name"))
    if name:
        path: Path = ("spec", "channel", "resourceClaimTemplate", "name")
        values = {"name": str(name)[:253]}
        yield Repair("import.compute_domain", path, "template", values)
