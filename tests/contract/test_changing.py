"""Patch, update and status: what changes, what conflicts, what is immutable."""

from __future__ import annotations

import pytest

from tests.cluster.client import JSON_PATCH, Object
from tests.contract import objects
from tests.contract.expect import refusal


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

PROTECTION = "resource.kubernetes.io/delete-protection"


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
    """The pod is there, since the controllers take back what a missing pod holds."""
    namespace = stored_claim["metadata"]["namespace"]
    pod = objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "stored"})
    pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    uid = admin.create(pod)["metadata"]["uid"]
    admin.patch(stored_claim, {"metadata": {"finalizers": [PROTECTION]}})
    reserved_for = [{"resource": "pods", "name": "p", "uid": uid}]
    reserved = {"allocation": allocation(), "reservedFor": reserved_for}
    admin.patch(stored_claim, {"status": reserved}, "status")

    change = {"status": {"allocation": allocation("n2")}}
    refused = refusal(admin.patch, stored_claim, change, "status")

    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "status.allocation" in refused.fields


def test_a_status_update_needs_the_newest_version(admin, stored_claim):
    admin.patch(stored_claim, {"metadata": {"labels": {"x": "y"}}})
    stored_claim["status"] = {"allocation": allocation()}

    refused = refusal(admin.replace, stored_claim, "status")

    assert (refused.code, refused.reason) == (409, "Conflict")
