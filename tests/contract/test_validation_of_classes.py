"""What is refused as invalid in classes, slices and pods, and what is let through."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.client import Object
from tests.contract import objects
from tests.contract.expect import invalid
from tests.contract.test_validation import COSTLY, duplicate, selecting


@pytest.mark.parametrize(
    ("expression", "reason"),
    [("device.foo", "FieldValueInvalid"), (COSTLY, "FieldValueForbidden")],
)
def test_bad_cel_in_a_class(admin, unique, expression, reason):
    refused = invalid(admin, objects.device_class(unique("class"), "true", expression))

    assert [cause[:2] for cause in refused.causes] == [
        (reason, "spec.selectors[1].cel.expression")
    ]


def test_a_class_named_with_a_slash(admin):
    assert invalid(admin, objects.device_class("gpu/a100", "true")).fields == {
        "metadata.name"
    }


def test_what_the_server_lets_through(admin, namespace):
    """Expressions and numbers that fail when a pod is scheduled, not when written."""
    for expression in (
        'device.attributes["nobody.example.com"].key == "x"',
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("580.95.05"))',
    ):
        admin.create(objects.claim("a", namespace, selecting(expression)), dryRun="All")
    admin.create(objects.claim("a", namespace, objects.exactly(count=40)), dryRun="All")


def device(name: str, **attributes: Object) -> Object:
    return {"name": name, "attributes": attributes}


@pytest.fixture
def slice_of(unique):
    def make(*devices: Object, **spec: Any) -> Object:
        made = objects.resource_slice(
            unique("slice"), driver="gpu.example.com", node="n1", devices=list(devices)
        )
        made["spec"] |= spec
        return made

    return make


def test_a_slice_is_stored(admin, slice_of):
    manifest = slice_of(device("gpu-0", model={"string": "H100"}, index={"int": 0}))

    stored = admin.create(manifest, fieldValidation="Strict")

    assert stored["spec"]["devices"] == manifest["spec"]["devices"]
    assert stored["metadata"]["generation"] == 1
    admin.delete(stored)


@pytest.mark.parametrize(
    ("devices", "field"),
    [
        ([device("GPU")], "spec.devices[0].name"),
        ([device("gpu-0", model={})], "spec.devices[0].attributes[model]"),
        (
            [device("gpu-0", model={"string": "a", "int": 1})],
            "spec.devices[0].attributes[model]",
        ),
        (
            [device("gpu-0", version={"version": "580.95.05"})],
            "spec.devices[0].attributes[version].version",
        ),
    ],
)
def test_bad_devices(admin, slice_of, devices, field):
    assert field in invalid(admin, slice_of(*devices)).fields


def test_a_device_twice_in_a_slice(api, slice_of):
    refused = invalid(api.client(), slice_of(device("a"), device("a")))

    field = duplicate("spec.devices[1]", api.minor)
    assert [cause[:2] for cause in refused.causes] == [("FieldValueDuplicate", field)]


def test_a_slice_says_where_its_devices_are(admin, slice_of):
    manifest = slice_of(device("gpu-0"))
    del manifest["spec"]["nodeName"]

    assert "spec" in invalid(admin, manifest).fields


def test_a_pod_names_its_claims(real_admin, real_namespace):
    pod = objects.pod("p", real_namespace, {"name": "gpu"})

    refused = invalid(real_admin, pod)

    assert "spec.resourceClaims[0]" in refused.fields
