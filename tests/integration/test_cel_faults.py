"""What is said of CEL expressions, sound and not, beyond the reported cases.

`A` and `C` stand for the attributes and capacities of gpu.nvidia.com. The class nv
is all that its driver publishes: two T4 and their two faces for passthrough, which
have no index, memory or driverVersion; nic is another driver's.
"""

from __future__ import annotations

import pytest

from claims.services.check_documents import check_document
from claims.services.checking import check_file
from claims.services.filed import file_of
from inventory.services.loading import load_cluster
from tests.conftest import DATA, objects_of

pytestmark = pytest.mark.django_db

GPU = "device.driver == 'gpu.nvidia.com'"
CLASSES = {
    "nv": GPU,
    "whole": f"{GPU} && A.type == 'gpu'",
    "any": "device.driver in ['gpu.nvidia.com', 'dra.net']",
    "nothing": "device.driver == 'gpu.example.com'",
}


def spelled(expression):
    for short, long in (("A", "attributes"), ("C", "capacity")):
        expression = expression.replace(
            f"{short}.", f'device.{long}["gpu.nvidia.com"].'
        )
    return expression


def resource(kind, name, spec):
    version = {"apiVersion": "resource.k8s.io/v1", "kind": kind}
    place = {} if kind == "DeviceClass" else {"namespace": "orchid"}
    return {**version, "metadata": {"name": name, **place}, "spec": spec}


def asked(of_class, *expressions):
    selectors = [{"cel": {"expression": spelled(text)}} for text in expressions]
    return {"deviceClassName": of_class, "selectors": selectors}


@pytest.fixture(params=["1.34", "1.37"])
def cluster(request, now):
    """Return a cluster of T4s, half of their faces passed through, and cards for the net."""
    fleets = ("nvidia-vfio-passthrough", "dranet-nics")
    paths = [DATA / "fleets" / f"{fleet}.yaml" for fleet in fleets]
    classes = [
        resource("DeviceClass", name, {"selectors": asked(name, text)["selectors"]})
        for name, text in CLASSES.items()
    ]
    bodies = [body for path in paths for body in objects_of(path)]
    return load_cluster(
        "cel",
        [*bodies, *classes],
        kubernetes_version=request.param,
        feature_gates={},
        now=now,
    ).cluster


@pytest.fixture
def check(cluster):
    """Return a function from objects to their diagnostics, told of CEL or of matches."""

    def found(*objects):
        filed = file_of(list(objects), namespace="orchid")
        items, others = check_file(cluster, filed)
        document = check_document(items, others, [None] * len(items))
        return [
            each
            for item in document["items"]
            for each in item["diagnostics"]
            if each["code"].startswith(("cel.", "preview.zero", "first_available.cel"))
        ]

    return found


@pytest.fixture
def check_one(check):
    """Return a function from a class and expressions to what is found of a claim."""

    def found(of_class, *expressions):
        request = {"name": "r", "exactly": asked(of_class, *expressions)}
        return check(
            resource("ResourceClaim", "a", {"devices": {"requests": [request]}})
        )

    return found


def levels(found):
    return {each["code"]: each["level"] for each in found}


# Class, expression: what it is, and what mends it.
CERTAIN = [
    (
        "whole",
        'A.driverVersion.compareTo(semver("580.95.05", false)) >= 0',
        "cel.bad_semver",
        'A.driverVersion.compareTo(semver("580.95.5", false)) >= 0',
    ),
    (
        "whole",
        "A.driverVersion.compareTo(semver(r'580.95.05')) >= 0",
        "cel.bad_semver",
        "A.driverVersion.compareTo(semver(r'580.95.5')) >= 0",
    ),
    (
        "whole",
        'A.driverVersion.compareTo(semver("""580.95.05""")) >= 0',
        "cel.bad_semver",
        'A.driverVersion.compareTo(semver("""580.95.5""")) >= 0',
    ),
    (
        "whole",
        'A.driverVersion.compareTo(semver("latest", true)) >= 0',
        "cel.bad_semver",
        None,
    ),
    (
        "nothing",
        'semver("v9").major() == 9',
        "cel.bad_semver",
        'semver("9.0.0").major() == 9',
    ),
    ("whole", "semver(A.productName).major() > 1", "cel.runtime_error", None),
    ("whole", "semver(A.driverVersion).major() > 1", "cel.bad_semver", None),
    (
        "whole",
        "semver(A.driverVersion, true).major() > 1",
        "cel.bad_semver",
        None,
    ),
    (
        "whole",
        'C.memory.compareTo(quantity("8GB")) >= 0',
        "cel.runtime_error",
        'C.memory.compareTo(quantity("8G")) >= 0',
    ),
    ("whole", 'A.driverVersion == "580.95.5"', "cel.runtime_error", None),
    ("whole", "int(A.productName) > 2", "cel.runtime_error", None),
    ("whole", "isSemver(A.driverVersion)", "cel.runtime_error", None),
    ("whole", "A.?index.value() == 2", "cel.key_published_by_none", None),
    (
        "whole",
        'A.?pcieRoot.value() == "pci0000:3a"',
        "cel.key_other_domain",
        'device.attributes["resource.kubernetes.io"].?pcieRoot.value() == "pci0000:3a"',
    ),
    (
        "whole",
        'A.?type.orValue("") == "gpu" && A.?index.value() == 2',
        "cel.key_published_by_none",
        None,
    ),
    (
        "whole",
        "A.?slot.orValue(1) == 1 && A.?index.value() == 2",
        "cel.runtime_error",
        None,
    ),
    ("whole", "A.?iommuFDEnabled.value()", "cel.runtime_error", None),
    # What the driver's guard sorts out makes it no less certain.
    (
        "any",
        f'{GPU} && A.type == "gpu" && C.memory.compareTo(quantity("8GB")) >= 0',
        "cel.runtime_error",
        f'{GPU} && A.type == "gpu" && C.memory.compareTo(quantity("8G")) >= 0',
    ),
    ("any", f"{GPU} && int(A.productName) > 2", "cel.runtime_error", None),
    # Fixes are made in their place, and tried.
    (
        "whole",
        'A.uuid != "gpu-7" && A.cudaComputeCapability.major() >= 7'
        ' && A.cudaComputeCapability.compareTo(semver("7")) >= 0',
        "cel.bad_semver",
        'A.uuid != "gpu-7" && A.cudaComputeCapability.major() >= 7'
        ' && A.cudaComputeCapability.compareTo(semver("7.0.0")) >= 0',
    ),
    (
        "whole",
        'A.type == "gpu" && A.pcieRoot == "pci0000:3a"',
        "cel.key_other_domain",
        'A.type == "gpu" &&'
        ' device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:3a"',
    ),
    (
        "nv",
        "device.driver == 'nvidia.com' || device.attributes['nvidia.com'].type == 'gpu'",
        "cel.key_other_domain",
        "device.driver == 'nvidia.com' ||"
        " device.attributes['gpu.nvidia.com'].type == 'gpu'",
    ),
    # Two faults: mended together, or not at all.
    (
        "whole",
        'A.driverVersion.compareTo(semver("580.95.05")) >= 0'
        ' && C.memory.compareTo(quantity("8GB")) >= 0',
        "cel.bad_semver",
        'A.driverVersion.compareTo(semver("580.95.5")) >= 0'
        ' && C.memory.compareTo(quantity("8G")) >= 0',
    ),
    (
        "whole",
        'A.driverVersion.compareTo(semver("580.95.05")) >= 0 && A.index == 2',
        "cel.bad_semver",
        None,
    ),
]


@pytest.mark.parametrize(("of_class", "expression", "code", "fixed"), CERTAIN)
def test_what_fails_on_every_node_is_an_error(
    check, check_one, of_class, expression, code, fixed
):
    found = check_one(of_class, expression)
    assert levels(found)[code] == "error"
    fixes = [each["fix"] for each in found if each["code"] == code]
    of_version = "semver(A.driverVersion)" in expression
    if fixed or not of_version:
        assert [fix and fix["value"] for fix in fixes] == [fixed and spelled(fixed)]
    if fixed:
        assert not [
            each for each in check_one(of_class, fixed) if each["level"] == "error"
        ]
    alternatives = [
        {"name": "x", **asked(of_class, expression)},
        {"name": "y", **asked("whole")},
    ]
    request = {"name": "r", "firstAvailable": alternatives}
    listed = check(resource("ResourceClaim", "a", {"devices": {"requests": [request]}}))
    assert levels(listed)["first_available.cel_error"] == "error"
    assert levels(listed)[code] == "error"


@pytest.mark.parametrize(
    ("of_class", "expression", "wanted"),
    [
        ("whole", 'A.type == "gpu" // semver("580.95.05")', {}),
        ("whole", """A.productName != "semver('1.2')" """, {}),
        ("whole", 'A.productName != ".matches(\'a\') and quantity(\'8GB\')"', {}),
        (
            "whole",
            'isSemver("580.95.05") ? A.driverVersion.compareTo(semver("580.95.05")) > 0'
            " : true",
            {},
        ),
        (
            "whole",
            'isQuantity("8GB") ? C.memory.compareTo(quantity("8GB")) > 0 : true',
            {},
        ),
        (
            "any",
            f'{GPU} || (device.driver == "other" && semver("1.2").major() == 1)',
            {},
        ),
        ("whole", 'A.driverVersion.compareTo(semver("v580.95", true)) >= 0', {}),
        ("nv", "A.?index.orValue(2) == 2", {}),
        ("nv", 'A.?driverVersion.optMap(v, v.major() == 580).orValue(false)', {}),
        ("nv", '"driverVersion" in A.all && A.driverVersion.major() == 580'.replace("A.all", 'device.attributes["gpu.nvidia.com"]'), {}),
        (
            "nv",
            "has(A.index) ? A.index == 2 : true",
            {},
        ),
        ("whole", "matches(A.productName, 'T4$')", {"cel.slow": "info"}),
        ("whole", "A.productName.find('T.') == 'Te'", {"cel.slow": "info"}),
        ("whole", "A.productName.findAll('[0-9]').size() == 1", {"cel.slow": "info"}),
        ("whole", "A.productName != '.findAll(' // .find('x')", {}),
        # Some fail, and some match: who comes to one first is luck.
        ("nv", "A.productName == 'TU104GL [Tesla T4]' || int(A.uuid) == 1", {"cel.runtime_error": "warning"}),
        ("nv", "A.driverVersion.major() == 580", {"cel.runtime_missing_key": "warning"}),
    ],
)  # fmt: skip
def test_what_is_sound_or_may_match_is_no_error(
    check, check_one, of_class, expression, wanted
):
    assert levels(check_one(of_class, expression)) == wanted


def test_a_certain_error_is_told_beside_a_key_that_some_lack(check, check_one):
    faulty = f'{GPU} && C.memory.compareTo(quantity("8GB")) >= 0'
    body = resource("DeviceClass", "big", {"selectors": asked("", faulty)["selectors"]})
    assert levels(check(body)) == {
        "cel.runtime_error": "error",
        "cel.runtime_missing_key": "warning",
    }
    (error, _missing) = sorted(check(body), key=lambda each: each["level"])
    assert error["fix"]["value"] == spelled(faulty.replace("8GB", "8G"))


def test_a_class_that_fails_for_its_own_devices_stops_a_list_that_names_it(check):
    faulty = f'{GPU} && C.memory.compareTo(quantity("8GB")) >= 0'
    body = resource("DeviceClass", "big", {"selectors": asked("", faulty)["selectors"]})
    alternatives = [{"name": "x", **asked("whole")}, {"name": "y", **asked("big")}]
    request = {"name": "r", "firstAvailable": alternatives}
    claim = resource("ResourceClaim", "a", {"devices": {"requests": [request]}})
    found = [each for each in check(body, claim) if "requests" in each["path"]]
    assert levels(found) == {
        "cel.runtime_error": "error",
        "cel.runtime_missing_key": "warning",
        "first_available.cel_error": "error",
    }


ATTRIBUTES = 'device.attributes["gpu.nvidia.com"]'
ZERO = {"preview.zero_match": "warning"}


@pytest.mark.parametrize(
    ("of_class", "expressions", "besides"),
    [
        ("whole", ['A.productName == "nope"', "A.index == 2"], "cel.key_published_by_none"),
        ("whole", ['A.productName == "nope" && A.index == 2'], "cel.key_published_by_none"),
        ("whole", ['A.productName == "nope" && C.cores.isInteger()'], "cel.key_published_by_none"),
        ("whole", ['A.productName == "nope" && A.pcieRoot == "x"'], "cel.key_other_domain"),
        (
            "whole",
            ['A.uuid == "x" && A.driverVersion.compareTo(semver("1.2")) > 0'],
            "cel.bad_semver",
        ),
        (
            "whole",
            ['A.uuid == "x" && C.memory.compareTo(quantity("8GB")) > 0'],
            "cel.runtime_error",
        ),
        # Another way of asking for it guards what comes after.
        ("whole", [f'"index" in {ATTRIBUTES}', "A.index == 2"], None),
        ("whole", ["A.type == 'no' && has(A.index) && A.index == 2"], None),
        ("whole", ["A.?index.orValue(1) == 2 && A.index == 2"], None),
        ("whole", [f"{ATTRIBUTES}.exists(k, k == 'index') && A.index == 2"], None),
        # Nothing is known of what a driver publishes that is not there.
        ("any", ["device.driver == 'o.io' && device.attributes['o.io'].x == 1"], None),
    ],
)  # fmt: skip
def test_what_comes_back_once_the_first_is_repaired_is_told_as_a_warning(
    check, check_one, of_class, expressions, besides
):
    wanted = ZERO | ({besides: "warning"} if besides else {})
    assert levels(check_one(of_class, *expressions)) == wanted
    alternatives = [{"name": "x", **asked(of_class, *expressions)}]
    request = {"name": "r", "firstAvailable": alternatives}
    listed = check(resource("ResourceClaim", "a", {"devices": {"requests": [request]}}))
    assert levels(listed) == wanted


def test_of_a_class_without_devices_no_key_is_known(check_one):
    assert levels(check_one("nothing", "A.index == 2")) == {}
