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
from claims.domain.importing.labels import Meaning, meaning_of
from claims.domain.importing.published import CAPACITY, Published

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

REF = "gpu"
NVIDIA = "gpu.nvidia.com"
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
_OWN_LONGEST = 30
_DEEPEST = 10
_USUAL = frozenset({"spec", "template"})
# KServe's predictor is a pod's spec whose one container stands beside the others.
_MODEL = "model"


def pod_paths(body: Json) -> list[Path]:
    """Return where a workload keeps its pods' specs; several in custom resources."""
    path = _PATHS.get(str(body.get("kind")))
    return [path] if path else list(_found_pods(body.get("spec"), ("spec",)))


def _found_pods(value: Any, path: Path) -> Iterator[Path]:
    """Yield where pod specs stand in an object of any kind: what has containers."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, dict):
        if _is_pod_spec(value):
            yield path
            return
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _found_pods(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _found_pods(inner, (*path, i))


def _is_pod_spec(value: Json) -> bool:
    rows = value.get("containers")
    if isinstance(rows, list):
        return bool(rows) and all(isinstance(row, dict) for row in rows)
    return isinstance(at(value, (_MODEL, "resources")), dict)


def holds_pods(body: Json) -> bool:
    """Return whether an object makes pods whose spec it holds."""
    return bool(pod_paths(body))


def resources_asked(body: Json) -> dict[str, int]:
    """Return the GPU resources of device plugins that a workload's pods ask for.

    Of several pods in a custom resource, all of them; each name with its number.
    """
    found: dict[str, int] = {}
    for base in pod_paths(body):
        spec = at(body, base)
        for _path, container in _containers(
            base, spec if isinstance(spec, dict) else {}
        ):
            for name, count, _parts in _asked(container):
                found[name] = found.get(name, 0) + count
    return found


def workload_repairs(body: Json, known: Published) -> Iterator[Repair]:
    """Yield what pods' specs must say otherwise to get their devices by claim."""
    paths = pod_paths(body)
    for base in paths:
        spec = at(body, base)
        if not isinstance(spec, dict):
            continue
        name = template_name(body, base if len(paths) > 1 else ())
        yield from _sources(base, spec)
        yield from _limits(body, base, spec, known, name)
        yield from _kept_labels(base, spec, known)
        yield from _references(base, spec)
        yield from _runtime(base, spec)


def _containers(base: Path, spec: Json) -> Iterator[tuple[Path, Json]]:
    for key in ("initContainers", "containers"):
        for i, container in enumerate(listed(spec, key)):
            if isinstance(container, dict):
                yield (*base, key, i), container
    if isinstance(spec.get(_MODEL), dict):
        yield (*base, _MODEL), spec[_MODEL]


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


Asked = list[tuple[Path, str, int, re.Match[str]]]


def _limits(
    body: Json, base: Path, spec: Json, known: Published, template: str
) -> Iterator[Repair]:
    """Yield one repair for all extended resources of a pod: one template, one claim."""
    asked: Asked = [
        (path, name, count, parts)
        for path, container in _containers(base, spec)
        for name, count, parts in _asked(container)
    ]
    if not any(count for _path, _name, count, _parts in asked):
        return
    meant = _meant(base, spec, asked, known)
    where = (*asked[0][0], "resources", "limits", asked[0][1])
    values: Json = {
        "resource": ", ".join(dict.fromkeys(name for _p, name, *_m in asked))
    }
    for path, name, count, parts in asked:
        why = _exactly(name, count, parts, known, meant)[1]
        if why:
            values = {"resource": name, "known": ", ".join(sorted(known.classes))}
            where = (*path, "resources", "limits", name)
            yield Repair("import.extended_resource", where, why, values, about=name)
            return
    rows = [row for row in listed(spec, "resourceClaims") if isinstance(row, dict)]
    if any(row.get("name") == REF for row in rows):
        values["name"] = REF
        yield Repair("import.extended_resource", where, "taken", values)
        return
    requests, edits = _requests(body, asked, known, meant)
    entry = {"name": REF, "resourceClaimTemplateName": template}
    yield Repair(
        "import.extended_resource",
        where,
        _variant(values, known, meant),
        {**values, "template": template, "labels": "; ".join(meant.said)},
        (*edits, *meant.edits, Append((*base, "resourceClaims"), entry)),
        adds=(_template(template, body, requests),),
    )


def _kept_labels(base: Path, spec: Json, known: Published) -> Iterator[Repair]:
    """Yield what node selectors still say of GPUs of a pod that has a claim."""
    if listed(spec, "resourceClaims"):
        for label, why in meaning_of(base, spec, NVIDIA, known).kept:
            values = {"label": label.text}
            yield Repair("import.node_label", label.path, why, values, about=label.text)


def _requests(
    body: Json, asked: Asked, known: Published, meant: Meaning
) -> tuple[list[Json], list[Edit]]:
    """Return a template's requests, and the edits that let containers use them."""
    requests: list[Json] = []
    edits: list[Edit] = []
    for path, name, count, parts in asked:
        container = at(body, path)
        edits += _without(path, container, name)
        if count:
            label = f"{container.get('name') or path[-1]}-{len(requests)}"
            request = REF if len(asked) == 1 else _label(f"gpu-{label}")
            exactly, _why = _exactly(name, count, parts, known, meant)
            requests.append({"name": request, "exactly": exactly})
            row: Json = {"name": REF}
            if len(asked) > 1:
                row["request"] = request
            edits.append(Append((*path, "resources", "claims"), row))
    return requests, edits


def _variant(values: Json, known: Published, meant: Meaning) -> str:
    """Return which sentence tells of a repair; put the classes mapped already in it."""
    names = values["resource"].split(", ")
    mapped = [
        name
        for name, body in known.classes.items()
        if (body.get("spec") or {}).get("extendedResourceName") in names
    ]
    values["classes"] = ", ".join(mapped)
    if meant.said:
        return "mapped_labels" if mapped else "labels"
    return "mapped" if mapped else ""


def _without(path: Path, container: Json, name: str) -> Iterator[Edit]:
    for key in ("limits", "requests"):
        if name in (at(container, ("resources", key)) or {}):
            yield Drop((*path, "resources", key, name))


def _meant(
    base: Path,
    spec: Json,
    asked: Asked,
    known: Published,
) -> Meaning:
    """Return what the pod's node selectors ask of the devices that stand for its GPUs."""
    drivers = {f"gpu.{parts['domain']}" for _path, _name, _count, parts in asked}
    if len(drivers) != 1:
        return Meaning()
    return meaning_of(base, spec, drivers.pop(), known)


def _exactly(
    name: str, count: int, parts: re.Match[str], known: Published, meant: Meaning
) -> tuple[Json | None, str]:
    """Return the request that stands for an extended resource, or why there is none."""
    domain = parts["domain"]
    is_gpu = parts["what"] == "gpu"
    mig = _MIG.fullmatch(parts["what"])
    if is_gpu and meant.profile:
        mig = _MIG.fullmatch(f"mig-{meant.profile}")
    class_name = "" if is_gpu and mig else known.class_like(name)
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
    if meant.texts:
        row = {"cel": {"expression": " && ".join(meant.texts)}}
        exactly["selectors"] = [*exactly.get("selectors", []), row]
    if parts["shared"] or (is_gpu and meant.shared):
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


def template_name(body: Json, path: Path = ()) -> str:
    """Return the name of the template made for a workload, or for one of its pods."""
    metadata = body.get("metadata") or {}
    stem = metadata.get("name") or metadata.get("generateName") or body["kind"]
    steps = [str(step) for step in path if step not in _USUAL]
    own = "-".join(["", *steps])[:_OWN_LONGEST]
    return _label(f"{str(stem)[: _LONGEST - len(own)]}{own}-gpu")


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
