"""What import and snippets give, taken by an API server's strict dry run.

The recorded guides hold what people copy, mistakes included; each must get the
findings that it deserves, and end as something that a server takes.
"""

from __future__ import annotations

import contextlib

import pytest
import yaml

from claims.domain.snippets import Workload, offered, uses_of
from claims.services.bundles import snippet
from claims.services.importing import import_text
from tests.agreement.conftest import NEWEST
from tests.cluster.client import Refused, path_of
from tests.conftest import DATA
from tests.contract import objects
from tests.contract.servers import SIMULATED, start
from tests.integration.importing.texts import CASES

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
# What the simulated server does not serve.
REAL_ONLY = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Service": "/api/v1/namespaces/{}/services",
    "ComputeDomain": "",
}
# file → codes that it gets, and those of them that are repaired.
GUIDES: dict[str, tuple[set[str], set[str]]] = {
    "000-computedomain.yaml": ({"import.compute_domain"}, set()),
    "000-deviceclass.yaml": (
        {"cel.bad_semver", "class.mixed_types"},
        {"cel.bad_semver", "class.mixed_types"},
    ),
    "000-pod.yaml": (set(), set()),
    "000-systemone.json": ({"import.unreadable"}, set()),
    "000-template.yaml": (
        {
            "preview.zero_match",
            "capacity.whole_device",
            "constraint.parent_request",
            "first_available.per_node",
        },
        {"preview.zero_match", "capacity.whole_device", "constraint.parent_request"},
    ),
    "001-deviceclass.yaml": (
        {"claim.invalid", "class.mixed_types"},
        {"claim.invalid", "class.mixed_types"},
    ),
    "001-gpu-claim.yaml": (
        {
            *("claim.invalid", "class.missing", "cel.compile", "import.at_least"),
            "capacity.default_is_all",
        },
        {"claim.invalid", "class.missing", "cel.compile", "import.at_least"},
    ),
    "001-mig-configmap.yaml": ({"import.kept"}, set()),
    "001-nvlink-claim.yaml": (
        {
            *("claim.invalid", "class.missing", "cel.compile", "preview.zero_match"),
            "capacity.default_is_all",
        },
        {"claim.invalid", "class.missing", "cel.compile", "preview.zero_match"},
    ),
    "001-pod.yaml": (set(), set()),
    "001-template.yaml": (
        {"claim.invalid", "class.missing", "capacity.default_is_all"},
        {"claim.invalid", "class.missing"},
    ),
}
REPAIRED = {
    "000-deviceclass.yaml": (
        'device.driver == "gpu.nvidia.com" && '
        'device.attributes["gpu.nvidia.com"].type == "gpu" && '
        'device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(semver("580.0.0"))'
    ),
    "001-gpu-claim.yaml": (
        'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("16Gi")) >= 0'
    ),
    "001-nvlink-claim.yaml": (
        'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
    ),
}


@pytest.fixture(
    scope="module",
    params=[SIMULATED, pytest.param(NEWEST, marks=pytest.mark.cluster)],
)
def server(request):
    """Return a server with the namespaces that the manifests name."""
    with start(request.param) as running:
        admin = running.client()
        for name in ("ai-serving", "ai-training", "gpu-operator", "default"):
            with contextlib.suppress(Refused):
                admin.create(objects.namespace(name))
        yield running


def dry_run(server, text, namespace="ai-serving"):
    """Let a server take each object of a text, as if for good; return their kinds."""
    admin, taken = server.client(), []
    for body in yaml.safe_load_all(text):
        kind = (body or {}).get("kind")
        if kind is None or (server.name == SIMULATED and kind in REAL_ONLY):
            continue
        where = body["metadata"].get("namespace", namespace)
        if kind == "DeviceClass":
            where = None
        path = REAL_ONLY.get(kind, "").format(where) if kind in REAL_ONLY else ""
        if kind not in REAL_ONLY:
            path = path_of(kind, where)
        if path:
            admin.call("POST", path, body, **STRICT)
            taken.append(kind)
    return taken


@pytest.mark.parametrize("name", GUIDES)
def test_each_guide_gets_its_findings_and_is_taken(server, fleet_cluster, name):
    text = (DATA / "guides" / name).read_text()

    found = import_text(fleet_cluster, text)

    (document,) = found.documents
    codes, repaired = GUIDES[name]
    assert {f.code for f in document.faults} == codes
    assert {f.code for f in document.repaired} == repaired
    assert found.is_valid
    expressions = " ".join(found.corrected.split())
    assert REPAIRED.get(name, "") in expressions
    if not repaired:
        assert found.corrected == text
    dry_run(server, found.corrected)


def test_the_shares_of_the_guide_then_lie_where_shares_are(fleet_cluster):
    text = (DATA / "guides" / "000-template.yaml").read_text()

    found = import_text(fleet_cluster, text)

    devices = yaml.safe_load(found.corrected)["spec"]["spec"]["devices"]
    assert devices["constraints"] == [
        {
            "requests": ["primary-gpu-req/hopper-shared-slices"],
            "distinctAttribute": "gpu.nvidia.com/uuid",
        },
        {
            "requests": ["primary-gpu-req/mig-fallback-slices"],
            "distinctAttribute": "gpu.nvidia.com/parentUUID",
        },
    ]
    shares = devices["requests"][0]["firstAvailable"][0]["selectors"][0]["cel"]
    assert shares["expression"].startswith("device.allowMultipleAllocations &&")
    assert '"79Gi"' in shares["expression"]
    # Two nodes with shares, and the one with partitions.
    assert found.documents[0].fitting == 3


@pytest.mark.parametrize("name", CASES)
def test_each_repaired_mistake_is_taken(server, fleet_cluster, name):
    found = import_text(fleet_cluster, CASES[name][0])

    assert dry_run(server, found.corrected)


def test_a_server_refuses_what_was_imported(server):
    """Without repairs these would not pass: the dry run is worth something."""
    refused = ("001-gpu-claim.yaml", "001-nvlink-claim.yaml", "001-deviceclass.yaml")
    for name in refused:
        with pytest.raises(Refused):
            dry_run(server, (DATA / "guides" / name).read_text())


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
@pytest.mark.parametrize("shape", Workload)
def test_each_workload_is_taken(server, kind, shape):
    manifest = {"kind": kind, "metadata": {"name": "a.b", "namespace": "ai-serving"}}
    if shape not in offered(uses_of(manifest)):
        pytest.skip("does not fit")

    taken = dry_run(server, snippet(manifest, shape))

    assert taken or server.name == SIMULATED
