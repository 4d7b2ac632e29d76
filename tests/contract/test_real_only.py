"""What only a real API server does; DIFFERENCES.md lists the same, for the simulated one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.client import APPLY_PATCH, Object, Refused, path_of
from tests.contract import objects
from tests.contract.expect import refusal

STRATEGIC = "application/strategic-merge-patch+json"
FIELD_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def invalid_fields(call: Any, *args: Any, **kwargs: Any) -> set[str]:
    refused = refusal(call, *args, **kwargs)
    assert (refused.code, refused.reason) == (422, "Invalid")
    return refused.fields


def quota(namespace: str, **hard: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"hard": hard},
    }


# Verbs and formats.


def test_server_side_apply(real_admin, real_namespace):
    manifest = objects.claim("a", real_namespace)
    options = {"content_type": APPLY_PATCH, "fieldManager": "test"}

    applied = real_admin.patch(manifest, manifest, **options)

    assert applied["metadata"]["managedFields"][0]["manager"] == "test"


def test_strategic_merge_patch(real_admin, real_namespace):
    stored = real_admin.create(objects.claim("a", real_namespace))

    changed = real_admin.patch(
        stored, {"metadata": {"labels": {"x": "y"}}}, content_type=STRATEGIC
    )

    assert changed["metadata"]["labels"] == {"x": "y"}


def test_delete_of_a_collection(real_admin, real_namespace, eventually):
    for name in ("a", "b"):
        real_admin.create(objects.claim(name, real_namespace))

    real_admin.call("DELETE", path_of("ResourceClaim", real_namespace))

    eventually(lambda: not real_admin.list("ResourceClaim", real_namespace)["items"])


def test_tables(real_admin):
    headers = [*real_admin._headers(), ("Accept", FIELD_TABLE)]

    table = real_admin.http.get(path_of("DeviceClass"), headers=headers).json()

    assert table["kind"] == "Table"


def test_managed_fields_name_who_wrote(real_admin, real_namespace):
    stored = real_admin.create(
        objects.claim("a", real_namespace), fieldManager="slicewise"
    )

    assert stored["metadata"]["managedFields"][0]["manager"] == "slicewise"


def test_feature_gates_are_metrics(real):
    metrics = real.client().request("GET", "/metrics").text

    expected = 0 if real.minor == 34 else 1
    stage = "ALPHA" if real.minor == 34 else "BETA"
    name = "DRAConsumableCapacity"
    assert (
        f'kubernetes_feature_enabled{{name="{name}",stage="{stage}"}} {expected}'
        in metrics
    )


# Validation that the simulated server leaves out.


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "c"}}, "metadata.labels"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations"),
        ({"finalizers": ["nope"]}, "metadata.finalizers[0]"),
    ],
)
def test_bad_metadata(real_admin, real_namespace, metadata, field):
    manifest = objects.claim("a", real_namespace, **metadata)

    assert field in invalid_fields(real_admin.create, manifest)


def test_an_owner_has_a_uid(real, real_namespace):
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    manifest = objects.claim("a", real_namespace, ownerReferences=[owner])

    where = "" if real.minor == 34 else "[0]"

    fields = invalid_fields(real.client().create, manifest)
    assert fields == {f"metadata.ownerReferences{where}.uid"}


def test_an_extended_resource_has_a_domain(real, unique):
    manifest = objects.device_class(unique("class"))
    manifest["spec"]["extendedResourceName"] = "gpu"

    if real.minor == 34:
        assert "extendedResourceName" not in real.client().create(manifest)["spec"]
    else:
        fields = invalid_fields(real.client().create, manifest)
        assert fields == {"spec.extendedResourceName"}


def test_a_slice_has_at_most_128_devices(real_admin, unique):
    devices = [{"name": f"gpu-{number}"} for number in range(129)]
    manifest = objects.resource_slice(
        unique("slice"), driver="gpu.example.com", node="n1", devices=devices
    )

    assert invalid_fields(real_admin.create, manifest) == {"spec.devices"}


def test_driver_and_node_of_a_slice_are_immutable(real_admin, unique):
    manifest = objects.resource_slice(
        unique("slice"), driver="gpu.example.com", node="n1", devices=[]
    )
    stored = real_admin.create(manifest)

    change = {"spec": {"driver": "other.example.com"}}

    assert "spec.driver" in invalid_fields(real_admin.patch, stored, change)
    real_admin.delete(stored)


def test_gates_that_are_off_drop_fields_without_a_word(real, real_namespace):
    request = objects.exactly(
        capacity={"requests": {"memory": "10Gi"}},
        tolerations=[{"key": "a", "operator": "Exists"}],
    )
    manifest = objects.claim("a", real_namespace, request)

    stored = real.client().create(manifest, fieldValidation="Strict")

    exactly = stored["spec"]["devices"]["requests"][0]["exactly"]
    assert ("capacity" in exactly) == (real.minor >= 36)
    assert exactly["tolerations"] == [{"key": "a", "operator": "Exists"}]


# Quota.


def test_quota_charges_claims_but_not_templates(real_admin, real_namespace):
    key = "gpu.example.com.deviceclass.resource.k8s.io/devices"
    stored = real_admin.create(quota(real_namespace, **{key: "1"}))
    # What the quota controller counts; it may take a minute to look at a new key.
    counted = {"status": {"hard": {key: "1"}, "used": {key: "0"}}}
    real_admin.patch(stored, counted, subresource="status")
    two = objects.exactly(count=2)

    real_admin.create(objects.template("t", real_namespace, two))
    with pytest.raises(Refused) as refused:
        real_admin.create(objects.claim("c", real_namespace, two), dryRun="All")

    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    assert f"exceeded quota: q, requested: {key}=2" in refused.value.message


# Admission.


def test_admission_sees_whom_the_portal_acts_as_and_its_mark(
    real_admin, real_namespace, unique, eventually
):
    name = unique("policy")
    for manifest in marked_only(name, real_namespace):
        plural = f"{manifest['kind'].lower()[:-1]}ies"
        if manifest["kind"].endswith("Binding"):
            plural = "validatingadmissionpolicybindings"
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}"
        real_admin.call("POST", path, manifest)

    def is_denied() -> bool:
        response = real_admin.request(
            "POST",
            path_of("ResourceClaim", real_namespace),
            objects.claim("c", real_namespace),
            dryRun="All",
        )
        return response.status_code == 422

    eventually(is_denied)
    masters = ("system:masters",)
    marked = real_admin.acting_as(
        "ada@orchid", masters, **{"slicewise.io%2Frequest-id": "7b0e"}
    )
    other = real_admin.acting_as(
        "cleo@maple", masters, **{"slicewise.io%2Frequest-id": "7b0e"}
    )

    assert marked.create(objects.claim("c", real_namespace), dryRun="All")
    with pytest.raises(Refused, match="only as ada, with the mark"):
        other.create(objects.claim("c", real_namespace), dryRun="All")


def marked_only(name: str, namespace: str) -> list[Object]:
    """A policy, and its binding, that lets only ada create claims, through the portal."""
    version = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["resourceclaims"],
    }
    expression = (
        'request.userInfo.username == "ada@orchid" && '
        'request.userInfo.extra[?"slicewise.io/request-id"].orValue([]) == ["7b0e"]'
    )
    where = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": where},
        "validations": [
            {"expression": expression, "message": "only as ada, with the mark"}
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": policy,
        },
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": binding,
        },
    ]


# Scheduler and controllers.


def test_a_taint_rule_evicts(real, unique, real_namespace, eventually):
    if real.minor < 37:
        pytest.skip("DeviceTaintRule is off before 1.37")
    admin, node = real.client(), unique("node")
    driver, name = f"{unique('driver')}.example.com", unique("class")
    real.cluster.add_node(node)
    admin.create(
        objects.resource_slice(
            node, driver=driver, node=node, devices=[{"name": "gpu-0"}]
        )
    )
    admin.create(objects.device_class(name, f'device.driver == "{driver}"'))
    admin.create(
        objects.claim("c", real_namespace, objects.exactly(deviceClassName=name))
    )
    admin.create(
        objects.pod("p", real_namespace, {"name": "gpu", "resourceClaimName": "c"})
    )
    eventually(lambda: admin.get("Pod", "p", real_namespace)["spec"].get("nodeName"))

    rule = admin.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceTaintRule",
            "metadata": {"name": unique("rule")},
            "spec": {
                "deviceSelector": {"driver": driver},
                "taint": {"key": "example.com/broken", "effect": "NoExecute"},
            },
        }
    )

    eventually(lambda: is_leaving(admin, real_namespace))
    admin.delete(rule)


def is_leaving(admin: Any, namespace: str) -> bool:
    response = admin.request("GET", path_of("Pod", namespace, "p"))
    return (
        response.status_code == 404
        or "deletionTimestamp" in response.json()["metadata"]
    )
