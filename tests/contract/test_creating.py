"""Create: what is stored, what is defaulted, what a dry run leaves."""

from __future__ import annotations

import datetime as dt
import re
import time
import uuid

from tests.cluster.client import path_of
from tests.contract import objects
from tests.contract.expect import is_stored, refusal

# What a created object carries.


def test_create_fills_in_who_and_when(admin, namespace):
    stored = admin.create(objects.claim("a", namespace, labels={"x": "y"}))

    metadata = stored["metadata"]
    assert uuid.UUID(metadata["uid"])
    created = dt.datetime.fromisoformat(metadata["creationTimestamp"])
    assert abs(created.timestamp() - time.time()) < 60
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"]
    )
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["labels"] == {"x": "y"}
    assert stored["status"] == {}


def test_create_answers_201_and_the_stored_object(admin, namespace):
    response = admin.request(
        "POST", path_of("ResourceClaim", namespace), objects.claim("a", namespace)
    )

    assert response.status_code == 201
    assert response.json() == admin.get("ResourceClaim", "a", namespace)


def test_create_ignores_what_only_the_server_may_say(admin, namespace):
    manifest = objects.claim("a", namespace, uid="mine")
    manifest["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    manifest["status"] = {
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]
    }

    stored = admin.create(manifest)

    assert stored["metadata"]["uid"] != "mine"
    assert not stored["metadata"]["creationTimestamp"].startswith("2001")
    assert stored["status"] == {}


def test_create_with_a_version_is_refused(admin, namespace):
    refused = refusal(admin.create, objects.claim("a", namespace, resourceVersion="1"))

    assert refused.code >= 400
    assert (
        "resourceVersion should not be set on objects to be created" in refused.message
    )


def test_generate_name_makes_a_name(admin, namespace):
    manifest = objects.claim("", namespace, generateName="gpu-")
    del manifest["metadata"]["name"]

    names = {admin.create(manifest)["metadata"]["name"] for _ in range(3)}

    assert len(names) == 3
    assert all(re.fullmatch(r"gpu-[a-z0-9]{5}", name) for name in names)


def test_no_name_at_all_is_invalid(admin, namespace):
    manifest = objects.claim("", namespace)
    del manifest["metadata"]["name"]

    refused = refusal(admin.create, manifest)

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.causes == [
        (
            "FieldValueRequired",
            "metadata.name",
            "Required value: name or generateName is required",
        )
    ]


def test_a_name_is_taken_once(admin, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]

    refused = refusal(admin.create, objects.claim("stored", namespace))

    assert (refused.code, refused.reason) == (409, "AlreadyExists")
    assert refused.message == 'resourceclaims.resource.k8s.io "stored" already exists'
    assert refused.status["details"] == {
        "name": "stored",
        "group": "resource.k8s.io",
        "kind": "resourceclaims",
    }


def test_a_namespace_that_is_not_there(admin, unique):
    name = unique("missing")

    refused = refusal(admin.create, objects.claim("a", name))

    assert (refused.code, refused.reason) == (404, "NotFound")
    assert refused.message == f'namespaces "{name}" not found'


def test_the_manifest_and_the_path_must_agree_on_the_namespace(admin, namespace):
    path = path_of("ResourceClaim", namespace)

    refused = refusal(admin.call, "POST", path, objects.claim("a", "elsewhere"))

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert "the namespace of the provided object does not match" in refused.message


def test_the_manifest_and_the_path_must_agree_on_the_version(admin, namespace):
    manifest = objects.claim("a", namespace) | {"apiVersion": "resource.k8s.io/v1beta1"}

    refused = refusal(admin.create, manifest)

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert (
        "does not match the expected API version (resource.k8s.io/v1)"
        in refused.message
    )


def test_a_body_that_is_no_json(admin, namespace):
    refused = refusal(admin.call, "POST", path_of("ResourceClaim", namespace), b"{nope")

    assert (refused.code, refused.reason) == (400, "BadRequest")


# Defaults.


def test_an_exact_request_gets_mode_and_count(admin, namespace):
    stored = admin.create(objects.claim("a", namespace))

    assert stored["spec"]["devices"]["requests"] == [
        {
            "name": "gpu",
            "exactly": {
                "deviceClassName": "gpu.example.com",
                "allocationMode": "ExactCount",
                "count": 1,
            },
        }
    ]


def test_a_count_of_zero_is_stored_as_one(admin, namespace):
    stored = admin.create(objects.claim("a", namespace, objects.exactly(count=0)))

    assert stored["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1


def test_all_gets_no_count(admin, namespace):
    stored = admin.create(
        objects.claim("a", namespace, objects.exactly(allocationMode="All"))
    )

    exactly = stored["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "gpu.example.com", "allocationMode": "All"}


def test_alternatives_get_mode_and_count(admin, namespace):
    request = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "big", "deviceClassName": "gpu.example.com"},
            {"name": "small", "deviceClassName": "mig.example.com", "count": 2},
        ],
    }

    stored = admin.create(objects.claim("a", namespace, request))

    alternatives = stored["spec"]["devices"]["requests"][0]["firstAvailable"]
    assert [(each["allocationMode"], each["count"]) for each in alternatives] == [
        ("ExactCount", 1),
        ("ExactCount", 2),
    ]


def test_a_toleration_gets_an_operator(admin, namespace):
    request = objects.exactly(tolerations=[{"key": "example.com/broken"}])

    stored = admin.create(objects.claim("a", namespace, request))

    assert stored["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] == [
        {"key": "example.com/broken", "operator": "Equal"}
    ]


def test_a_template_gets_the_defaults_of_its_claim(admin, namespace):
    stored = admin.create(objects.template("a", namespace, labels={"x": "y"}))

    assert stored["spec"]["metadata"] == {"labels": {"x": "y"}}
    exactly = stored["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)


def test_a_claim_without_requests_is_stored(admin, namespace):
    manifest = objects.claim("a", namespace)
    manifest["spec"] = {}

    stored = admin.create(manifest)

    assert not stored["spec"]["devices"]["requests"]


def test_capacity_and_constraints_come_back_as_they_were_sent(admin, namespace, api):
    request = objects.exactly(
        selectors=[{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
        count=2,
    )
    manifest = objects.claim("a", namespace, request)
    manifest["spec"]["devices"]["constraints"] = [
        {"requests": ["gpu"], "matchAttribute": "gpu.example.com/model"}
    ]
    manifest["spec"]["devices"]["config"] = [
        {
            "requests": ["gpu"],
            "opaque": {
                "driver": "gpu.example.com",
                "parameters": {"kind": "GpuConfig", "n": 1},
            },
        }
    ]

    devices = admin.create(manifest)["spec"]["devices"]

    assert devices["constraints"] == manifest["spec"]["devices"]["constraints"]
    assert devices["config"] == manifest["spec"]["devices"]["config"]
    assert (
        devices["requests"][0]["exactly"]["selectors"]
        == request["exactly"]["selectors"]
    )


# Dry runs.


def test_a_dry_run_answers_with_defaults_and_stores_nothing(admin, namespace):
    manifest = objects.claim("a", namespace)

    answer = admin.create(manifest, dryRun="All")

    assert answer["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    assert answer["metadata"]["uid"]
    assert "resourceVersion" not in answer["metadata"]
    assert not is_stored(admin, manifest)


def test_a_dry_run_refuses_as_the_real_run_does(admin, stored_claim):
    namespace = stored_claim["metadata"]["namespace"]

    taken = refusal(admin.create, objects.claim("stored", namespace), dryRun="All")
    invalid = refusal(
        admin.create, objects.claim("b", namespace, {"name": "gpu"}), dryRun="All"
    )

    assert (taken.code, invalid.code) == (409, 422)


def test_a_dry_run_of_a_change_and_of_a_delete_leaves_all_as_it_is(admin, stored_claim):
    changed = admin.patch(
        stored_claim, {"metadata": {"labels": {"x": "y"}}}, dryRun="All"
    )
    admin.delete(stored_claim, dryRun="All")

    metadata = stored_claim["metadata"]
    assert changed["metadata"]["labels"] == {"x": "y"}
    assert (
        admin.get("ResourceClaim", metadata["name"], metadata["namespace"])
        == stored_claim
    )


def test_a_dry_run_of_another_kind_is_refused(admin, namespace):
    refused = refusal(admin.create, objects.claim("a", namespace), dryRun="Some")

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.fields == {"dryRun"}
