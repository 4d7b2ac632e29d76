"""Create, change and delete: what is stored, what is refused, and what a dry run leaves."""

from __future__ import annotations

import datetime as dt
import re
import time
import uuid
from typing import Any

import pytest

from tests.cluster.client import JSON_PATCH, Client, Object, Refused, path_of
from tests.contract import objects


def refusal(call: Any, *args: Any, **kwargs: Any) -> Refused:
    """Return why the server refuses a call."""
    with pytest.raises(Refused) as refused:
        call(*args, **kwargs)
    return refused.value


def is_stored(admin: Client, manifest: Object) -> bool:
    metadata = manifest["metadata"]
    path = path_of(manifest["kind"], metadata.get("namespace"), metadata["name"])
    return admin.request("GET", path).is_success


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


# Strict decoding.


def test_strict_names_every_unknown_field(admin, namespace):
    request = {
        "name": "gpu",
        "deviceClassName": "x",
        "exactly": {"deviceClassName": "g", "foo": 1},
    }
    manifest = objects.claim("a", namespace, request)

    refused = refusal(admin.create, manifest, fieldValidation="Strict")

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert refused.message == (
        'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: '
        'strict decoding error: unknown field "spec.devices.requests[0].deviceClassName", '
        'unknown field "spec.devices.requests[0].exactly.foo"'
    )


def test_strict_names_a_duplicate_field(admin, namespace):
    body = (
        b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",'
        b'"metadata":{"name":"a","name":"b"},"spec":{"devices":{"requests":[]}}}'
    )

    refused = refusal(
        admin.call,
        "POST",
        path_of("ResourceClaim", namespace),
        body,
        fieldValidation="Strict",
    )

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert refused.message.endswith(
        'strict decoding error: duplicate field "metadata.name"'
    )


def test_strict_takes_what_is_right(admin, namespace):
    stored = admin.create(
        objects.claim("a", namespace), fieldValidation="Strict", dryRun="All"
    )

    assert stored["metadata"]["name"] == "a"


def test_strict_comes_before_validation(admin, namespace):
    request = {"name": "NOT A NAME", "deviceClassName": "x"}

    refused = refusal(
        admin.create, objects.claim("a", namespace, request), fieldValidation="Strict"
    )

    assert refused.code == 400


def test_without_strict_unknown_fields_are_dropped(admin, namespace):
    manifest = objects.claim("a", namespace, objects.exactly(foo=1))

    stored = admin.create(manifest, fieldValidation="Ignore")

    assert "foo" not in stored["spec"]["devices"]["requests"][0]["exactly"]


def test_by_default_unknown_fields_are_warned_of(admin, namespace):
    manifest = objects.claim("a", namespace, objects.exactly(foo=1))

    response = admin.request("POST", path_of("ResourceClaim", namespace), manifest)

    assert response.status_code == 201
    assert response.headers["warning"] == (
        '299 - "unknown field \\"spec.devices.requests[0].exactly.foo\\""'
    )


def test_a_value_of_the_wrong_type_is_a_bad_request(admin, namespace):
    refused = refusal(
        admin.create, objects.claim("a", namespace, {"name": "gpu", "exactly": "text"})
    )

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert "cannot unmarshal string" in refused.message


# Changes.


def test_a_merge_patch_changes_what_it_names(admin, stored_claim):
    changed = admin.patch(
        stored_claim,
        {"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"n": "1"}}},
    )
    again = admin.patch(changed, {"metadata": {"labels": {"a": None}}})

    assert again["metadata"]["labels"] == {"b": "2"}
    assert again["metadata"]["annotations"] == {"n": "1"}
    assert again["metadata"]["uid"] == stored_claim["metadata"]["uid"]
    versions = [
        int(o["metadata"]["resourceVersion"]) for o in (stored_claim, changed, again)
    ]
    assert versions == sorted(set(versions))


def test_a_json_patch_tests_before_it_changes(admin, stored_claim):
    change = [
        {"op": "test", "path": "/metadata/name", "value": "stored"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
    ]

    changed = admin.patch(stored_claim, change, content_type=JSON_PATCH)
    refused = refusal(
        admin.patch,
        stored_claim,
        [{"op": "test", "path": "/metadata/name", "value": "other"}],
        content_type=JSON_PATCH,
    )

    assert changed["metadata"]["labels"] == {"x": "y"}
    assert (refused.code, refused.reason) == (422, "Invalid")


def test_a_patch_that_changes_nothing_makes_no_version(admin, stored_claim):
    changed = admin.patch(stored_claim, {"metadata": {"name": "stored"}})

    assert (
        changed["metadata"]["resourceVersion"]
        == stored_claim["metadata"]["resourceVersion"]
    )


def test_a_patch_of_nothing_is_not_found(admin, namespace):
    refused = refusal(
        admin.patch,
        objects.claim("nope", namespace),
        {"metadata": {"labels": {"x": "y"}}},
    )

    assert (refused.code, refused.reason) == (404, "NotFound")


def test_an_unknown_patch_type_is_refused(admin, stored_claim):
    refused = refusal(admin.patch, stored_claim, {}, content_type="application/json")

    assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")


def test_an_update_needs_the_newest_version(admin, stored_claim):
    admin.patch(stored_claim, {"metadata": {"labels": {"x": "y"}}})

    refused = refusal(admin.replace, stored_claim)

    assert (refused.code, refused.reason) == (409, "Conflict")
    assert refused.message == (
        'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "stored": '
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )


def test_a_patch_that_names_an_old_version_conflicts(admin, stored_claim):
    old = stored_claim["metadata"]["resourceVersion"]
    admin.patch(stored_claim, {"metadata": {"labels": {"x": "y"}}})

    refused = refusal(
        admin.patch,
        stored_claim,
        {"metadata": {"resourceVersion": old, "labels": {"x": "z"}}},
    )

    assert (refused.code, refused.reason) == (409, "Conflict")


def test_an_update_of_the_newest_version_replaces(admin, stored_claim):
    stored_claim["metadata"]["labels"] = {"x": "y"}

    assert admin.replace(stored_claim)["metadata"]["labels"] == {"x": "y"}


def test_the_spec_of_a_claim_is_immutable(admin, stored_claim):
    change = {"spec": {"devices": {"requests": [objects.exactly(count=2)]}}}

    refused = refusal(admin.patch, stored_claim, change)

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.fields == {"spec"}
    assert refused.message.endswith("field is immutable")


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"spec": {"devices": {"requests": [objects.exactly(count=2)]}}}},
        {"spec": {"metadata": {"labels": {"x": "z"}}}},
    ],
)
def test_the_spec_of_a_template_is_immutable_with_its_metadata(
    admin, namespace, change
):
    stored = admin.create(objects.template("a", namespace, labels={"x": "y"}))

    refused = refusal(admin.patch, stored, change)

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.fields == {"spec"}
    assert refused.message.endswith("field is immutable")


def test_labels_of_a_template_may_change(admin, namespace):
    stored = admin.create(objects.template("a", namespace))

    changed = admin.patch(stored, {"metadata": {"labels": {"x": "y"}}})

    assert changed["metadata"]["labels"] == {"x": "y"}


def test_a_class_counts_changes_of_its_spec(admin, unique):
    stored = admin.create(objects.device_class(unique("class"), "true"))

    labelled = admin.patch(stored, {"metadata": {"labels": {"x": "y"}}})
    changed = admin.patch(stored, {"spec": {"selectors": []}})

    generations = [
        each["metadata"]["generation"] for each in (stored, labelled, changed)
    ]
    assert generations == [1, 1, 2]


def test_uid_and_name_cannot_change(admin, stored_claim):
    refused = refusal(admin.patch, stored_claim, {"metadata": {"uid": "another"}})

    assert (refused.code, refused.reason) in {(409, "Conflict"), (422, "Invalid")}
    refused = refusal(admin.patch, stored_claim, {"metadata": {"name": "another"}})
    assert (refused.code, refused.reason) == (400, "BadRequest")


# The status subresource.

POD = {"resource": "pods", "name": "p", "uid": "11111111-2222-3333-4444-555555555555"}


def allocation(node: str = "n1") -> Object:
    result = {
        "request": "gpu",
        "driver": "gpu.example.com",
        "pool": node,
        "device": "gpu-0",
    }
    return {"devices": {"results": [result]}}


def test_status_is_written_through_its_subresource_alone(admin, stored_claim):
    ignored = admin.patch(stored_claim, {"status": {"allocation": allocation()}})
    written = admin.patch(
        stored_claim, {"status": {"allocation": allocation()}}, "status"
    )

    assert ignored["status"] == {}
    assert (
        written["status"]["allocation"]["devices"]["results"]
        == (allocation()["devices"]["results"])
    )
    metadata = stored_claim["metadata"]
    assert (
        admin.get("ResourceClaim", metadata["name"], metadata["namespace"]) == written
    )


def test_the_status_subresource_writes_no_spec(admin, stored_claim):
    changed = admin.patch(
        stored_claim,
        {"spec": {"devices": {"requests": []}}, "status": {"allocation": allocation()}},
        "status",
    )

    assert changed["spec"] == stored_claim["spec"]


def test_an_allocation_is_immutable_once_set(admin, stored_claim):
    finalizers = {
        "metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}
    }
    admin.patch(stored_claim, finalizers)
    reserved = {"allocation": allocation(), "reservedFor": [POD]}
    admin.patch(stored_claim, {"status": reserved}, "status")

    refused = refusal(
        admin.patch,
        stored_claim,
        {"status": {"allocation": allocation("n2")}},
        "status",
    )

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "status.allocation" in refused.fields


def test_a_status_update_needs_the_newest_version(admin, stored_claim):
    admin.patch(stored_claim, {"metadata": {"labels": {"x": "y"}}})
    stored_claim["status"] = {"allocation": allocation()}

    refused = refusal(admin.replace, stored_claim, "status")

    assert (refused.code, refused.reason) == (409, "Conflict")


# Deletes.


def test_a_deleted_object_is_gone_and_its_name_free(admin, stored_claim):
    answer = admin.delete(stored_claim)

    assert answer.get("kind") in {"ResourceClaim", "Status"}
    assert not is_stored(admin, stored_claim)
    namespace = stored_claim["metadata"]["namespace"]
    again = admin.create(objects.claim("stored", namespace))
    assert again["metadata"]["uid"] != stored_claim["metadata"]["uid"]


def test_a_delete_of_nothing_is_not_found(admin, namespace):
    refused = refusal(admin.delete, objects.claim("nope", namespace))

    assert (refused.code, refused.reason) == (404, "NotFound")


@pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resourceVersion": "1"}])
def test_a_delete_keeps_to_its_preconditions(admin, stored_claim, precondition):
    refused = refusal(admin.delete, stored_claim, {"preconditions": precondition})

    assert (refused.code, refused.reason) == (409, "Conflict")
    assert "does not match" in refused.message
    assert is_stored(admin, stored_claim)


def test_a_delete_whose_preconditions_hold_deletes(admin, stored_claim):
    metadata = stored_claim["metadata"]
    holds = {key: metadata[key] for key in ("uid", "resourceVersion")}

    admin.delete(stored_claim, {"preconditions": holds})

    assert not is_stored(admin, stored_claim)


def test_a_finalizer_keeps_a_deleted_object_until_it_is_taken_away(admin, namespace):
    stored = admin.create(
        objects.claim("a", namespace, finalizers=["example.com/keep"])
    )

    marked = admin.delete(stored)
    kept = admin.get("ResourceClaim", "a", namespace)
    admin.patch(stored, {"metadata": {"finalizers": []}})

    assert kept == marked
    assert kept["metadata"]["deletionTimestamp"]
    assert kept["metadata"]["deletionGracePeriodSeconds"] == 0
    newer, older = (int(o["metadata"]["resourceVersion"]) for o in (kept, stored))
    assert newer > older
    assert not is_stored(admin, stored)


def test_an_object_that_is_being_deleted_takes_no_new_finalizer(admin, namespace):
    stored = admin.create(
        objects.claim("a", namespace, finalizers=["example.com/keep"])
    )
    admin.delete(stored)

    refused = refusal(
        admin.patch,
        stored,
        {"metadata": {"finalizers": ["example.com/keep", "example.com/new"]}},
    )
    taken = refusal(admin.create, objects.claim("a", namespace))

    assert refused.fields == {"metadata.finalizers"}
    assert "object is being deleted" in taken.message
    admin.patch(stored, {"metadata": {"finalizers": None}})


# Kinds of the core group.


def test_a_node_keeps_its_status_apart(admin, unique):
    name = unique("node")
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"a": "b"}},
    }
    stored = admin.create(node)
    ready = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "4"},
    }

    written = admin.patch(stored, {"status": ready}, "status")

    assert written["status"]["allocatable"] == {"cpu": "4"}
    assert written["status"]["conditions"][0]["type"] == "Ready"
    assert written["metadata"]["labels"] == {"a": "b"}
    admin.delete(stored)


def test_a_namespace_is_active_and_labelled_with_its_name(admin, unique):
    name = unique("ns")

    stored = admin.create(objects.namespace(name, team="orchid"))

    assert stored["metadata"]["labels"] == {
        "team": "orchid",
        "kubernetes.io/metadata.name": name,
    }
    assert stored["status"]["phase"] == "Active"


def test_a_deleted_namespace_ends_with_all_that_is_in_it(admin, unique, eventually):
    name = unique("ns")
    space = admin.create(objects.namespace(name))
    claim = admin.create(objects.claim("a", name))

    admin.delete(space)

    eventually(lambda: not is_stored(admin, space))
    assert not is_stored(admin, claim)


def test_a_pod_with_a_claim_is_pending(admin, namespace):
    pod = objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "missing"})

    stored = admin.create(pod)

    assert stored["status"]["phase"] == "Pending"
    assert stored["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimName": "missing"}
    ]
    admin.delete(stored, {"gracePeriodSeconds": 0})
