"""Faults of every code in other clothes: other drivers, versions, kinds and units.

`tests/data/varied*.yaml` say of each what must be found, and what must not; no
other error may be. Of what is sound (`quiet`) no warning may be either; `errors`
and `errorless` say which findings are of level error, `fits` on which nodes the
preview has it.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
import yaml

from claims.services.check_documents import check_document
from claims.services.checking import check_file
from claims.services.filed import file_of
from inventory.services.loading import load_cluster
from tests.conftest import DATA, objects_of

pytestmark = pytest.mark.django_db

GROUPS = defaultdict(list)
for path in sorted(DATA.glob("varied*.yaml")):
    for fault in yaml.safe_load(path.read_text()):
        gates = tuple(sorted(fault.get("gates", {}).items()))
        GROUPS[tuple(fault["fleets"]), fault["version"], gates].append(fault)


def devices(count):
    """Return so many devices of the least that one has."""
    capacity = {"memory": {"value": "1Gi"}}
    return [{"name": f"d{i}", "capacity": capacity} for i in range(count)]


# What would be long to read.
LONG = {
    "LONG-KOREAN": "device.driver == 'x' || device.driver == '" + "가" * 3500 + "'",
    "LONG-ASCII": "device.driver in " + str([f"{n:040}" for n in range(300)]),
    "NAME-300": "n" * 300,
    "DEVICES-17": devices(17),
    "DEVICES-40": devices(40),
}


def spelled(value):
    """Return a value with what stands for something long put in."""
    if isinstance(value, dict):
        return {key: spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spelled(item) for item in value]
    return LONG.get(value, value) if isinstance(value, str) else value


def whole(short):
    """Return the object that a short form means."""
    short = spelled(short)
    if "Slice" in short:
        return slice_of(short)
    if "Class" in short:
        metadata = {"name": short["Class"], **short.get("metadata", {})}
        return resource("DeviceClass", metadata, short["spec"])
    if "C" in short or "T" in short:
        return claim_of(short)
    return short


def resource(kind, metadata, spec):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def slice_of(short):
    pool = {
        "name": short.get("pool", short["node"]),
        "generation": 1,
        "resourceSliceCount": short["expected"],
    }
    parts = {key: short[key] for key in ("devices", "sharedCounters") if key in short}
    spec = {"driver": short["driver"], "nodeName": short["node"], "pool": pool, **parts}
    return resource("ResourceSlice", {"name": short["Slice"]}, spec)


def pods_of(short):
    """Return as many pods as are said, that name one claim."""
    claims = [{"name": "g", "resourceClaimName": short["claim"]}]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{i}", "namespace": "orchid", **short.get("as", {})},
            "spec": {"containers": [], "resourceClaims": claims},
            "status": {"phase": short.get("phase", "Pending")},
        }
        for i in range(short["count"])
    ]


def claim_of(short):
    parts = ("requests", "constraints", "config")
    devices = {key: short[key] for key in parts if key in short}
    spec = {"devices": devices} if devices else {}
    metadata = {
        "name": short.get("C") or short["T"],
        "namespace": "orchid",
        **short.get("metadata", {}),
    }
    if "labels" in short:
        metadata["labels"] = short["labels"]
    if "T" in short:
        inner = {"metadata": short["spec_metadata"]} if "spec_metadata" in short else {}
        return resource("ResourceClaimTemplate", metadata, {"spec": spec, **inner})
    body = resource("ResourceClaim", metadata, spec)
    if "holds" in short:
        results = [{"request": "g", **held} for held in short["holds"]]
        body["status"] = {"allocation": {"devices": {"results": results}}}
    return body


def found_in(cluster, fault):
    """Return name → (code, level) of what is found, name → sentences, and nodes that fit."""
    asked = [whole(short) for short in fault["ask"]]
    asked += [pod for each in fault.get("pods", ()) for pod in pods_of(each)]
    filed = file_of(asked, namespace="orchid")
    items, others = check_file(cluster, filed)
    fits = {
        each.item["metadata"]["name"]: each.preview.fitting
        for each in items
        if each.preview
    }
    document = check_document(items, others, [None] * len(items))
    found, said = defaultdict(set), defaultdict(str)
    for name, each in [
        *(("cluster", finding) for finding in document["cluster"]),
        *(
            (i["name"], finding)
            for i in document["items"]
            for finding in i["diagnostics"]
        ),
    ]:
        found[name].add((each["code"], each["level"]))
        said[name] += each["message"] + "\n"
    return found, said, fits


def unwarranted(fault, found):
    """Return what is warned of in a claim that is sound."""
    if not fault.get("quiet"):
        return []
    items = [of for name, of in found.items() if name != "cluster"]
    return [code for of in items for code, level in of if level == "warning"]


@pytest.mark.parametrize(
    "group", GROUPS, ids=lambda group: "+".join((*group[0], group[1]))
)
def test_a_fault_is_found_whatever_it_wears(group, now):
    fleets, version, gates = group
    paths = [DATA / "fleets" / f"{fleet}.yaml" for fleet in fleets]
    paths.append(DATA / "claims" / "deviceclasses.yaml")
    cluster = load_cluster(
        "varied",
        [body for path in paths for body in objects_of(path)],
        kubernetes_version=version,
        feature_gates=dict(gates),
        now=now,
    ).cluster
    wrong = []
    for fault in GROUPS[group]:
        found, said, fits = found_in(cluster, fault)
        wanted = {
            (LONG.get(name, name), code)
            for name, codes in fault["want"].items()
            for code in codes
        }
        there = {(name, code) for name, of in found.items() for code, _level in of}
        errors = {c for of in found.values() for c, level in of if level == "error"}
        wrong += [(fault["id"], "missing", each) for each in sorted(wanted - there)]
        codes = {code for _name, code in wanted}
        wrong += [
            (fault["id"], "no such warning", c) for c in unwarranted(fault, found)
        ]
        if "errors" in fault or "errorless" in fault:
            same = sorted(errors) == fault.get("errors", [])
            wrong += [] if same else [(fault["id"], "errors", sorted(errors))]
        wrong += [(fault["id"], "no such error", c) for c in sorted(errors - codes)]
        unwanted = {code for _name, code in there} & set(fault.get("absent", []))
        wrong += [(fault["id"], "not so", code) for code in sorted(unwanted)]
        wrong += [
            (fault["id"], "not said", text)
            for name, text in fault.get("says", {}).items()
            if text not in said[name]
        ]
        wrong += [
            (fault["id"], "fits", name, fits.get(name))
            for name, nodes in fault.get("fits", {}).items()
            if fits.get(name) != nodes
        ]

    assert wrong == []
