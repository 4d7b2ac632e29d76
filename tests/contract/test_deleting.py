"""Delete: preconditions and finalizers; and what core kinds add of their own."""

from __future__ import annotations

import pytest

from tests.contract import objects
from tests.contract.expect import is_stored, refusal


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

    eventually(lambda: not is_stored(admin, space), seconds=120)
    assert not is_stored(admin, claim)


def test_a_pod_with_a_claim_is_pending(admin, namespace):
    pod = objects.pod("p", namespace, {"name": "gpu", "resourceClaimName": "missing"})

    stored = admin.create(pod)

    assert stored["status"]["phase"] == "Pending"
    assert stored["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimName": "missing"}
    ]
    admin.delete(stored, {"gracePeriodSeconds": 0})
