"""The manifest that is sent, its digest, and what a server changed of it."""

from __future__ import annotations

import copy
import random

import pytest

from claims.domain.manifest import (
    asks_admin_access,
    canonical,
    changed_fields,
    claim_spec,
    class_names,
    digest_of,
    is_same_spec,
    ordered,
    request_id_of,
)

SPEC = {
    "devices": {
        "requests": [
            {
                "name": "gpu",
                "firstAvailable": [
                    {
                        "name": "share",
                        "deviceClassName": "gpu.nvidia.com",
                        "count": 2,
                        "capacity": {"requests": {"memory": "16384Mi"}},
                    },
                    {"name": "mig", "deviceClassName": "mig.nvidia.com"},
                ],
            },
            {"name": "nic", "exactly": {"deviceClassName": "nic.example.com"}},
        ],
        "constraints": [{"requests": ["gpu"], "matchAttribute": "a.example.com/b"}],
    }
}
TEMPLATE = {
    "kind": "ResourceClaimTemplate",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "t", "namespace": "ns", "labels": {"team": "a"}},
    "spec": {"spec": SPEC},
}
CLAIM = {**TEMPLATE, "kind": "ResourceClaim", "spec": SPEC}


def defaulted(manifest):
    """Return what a server might answer: the same, with defaults and its own fields."""
    body = copy.deepcopy(manifest)
    body["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "x"}
    for asked in claim_spec(body)["devices"]["requests"][0]["firstAvailable"]:
        asked |= {"allocationMode": "ExactCount", "count": asked.get("count", 1)}
    return body


def asking_of(memory, **more):
    """Return a request for so much memory."""
    exactly = {"deviceClassName": "gpu.nvidia.com", **more}
    return {
        "name": "gpu",
        "exactly": {**exactly, "capacity": {"requests": {"memory": memory}}},
    }


def labelled(value):
    """Return a template whose claims carry a label."""
    metadata = {"labels": {"team": value}}
    return {**TEMPLATE, "spec": {**TEMPLATE["spec"], "metadata": metadata}}


def shuffled(value):
    """Return the same JSON with keys in another order."""
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: shuffled(value[key]) for key in keys}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def test_canonical_has_one_order_of_keys():
    once = canonical(TEMPLATE, "id")

    for _ in range(5):
        again = canonical(shuffled(TEMPLATE), "id")
        assert str(again) == str(once)
    assert list(once) == ["apiVersion", "kind", "metadata", "spec"]
    assert str(ordered(shuffled(once))) == str(once)


def test_canonical_marks_the_object_and_its_claims():
    body = canonical(TEMPLATE, "id")

    assert body["metadata"]["labels"]["team"] == "a"
    for marked in (body, body["spec"]):
        assert request_id_of({"metadata": marked["metadata"]}) == "id"
    assert "metadata" not in canonical(CLAIM, "id")["spec"]


def test_canonical_leaves_out_what_a_server_sets():
    body = canonical({**defaulted(TEMPLATE), "status": {"x": 1}}, "id")

    assert sorted(body["metadata"]) == ["labels", "name", "namespace"]
    assert "status" not in body


def test_canonical_leaves_its_input_alone():
    before = copy.deepcopy(TEMPLATE)
    canonical(TEMPLATE, "id")

    assert before == TEMPLATE


@pytest.mark.parametrize("labels", [{}, {"slicewise.io/request-id": "id"}, None])
def test_request_id_needs_our_own_mark(labels):
    assert request_id_of({"metadata": {"labels": labels}}) == ""


def test_digest_is_that_of_the_claims_a_template_makes():
    assert digest_of(TEMPLATE) == digest_of(CLAIM) == digest_of(shuffled(CLAIM))
    assert digest_of(canonical(TEMPLATE, "a")) == digest_of(canonical(CLAIM, "b"))
    assert digest_of(TEMPLATE).startswith("sha256:")


def test_the_call_that_asked_is_named_and_changes_no_digest():
    annotated = {**CLAIM, "metadata": {**CLAIM["metadata"], "annotations": {"a": "b"}}}
    traced = canonical(annotated, "id", trace="nightly-0001")

    kept = {"a": "b", "slicewise.io/http-request-id": "nightly-0001"}
    assert traced["metadata"]["annotations"] == kept
    assert digest_of(traced) == digest_of(canonical(CLAIM, "id"))
    assert "annotations" not in canonical(CLAIM, "id")["metadata"]


def test_digest_changes_with_the_spec():
    other = copy.deepcopy(CLAIM)
    other["spec"]["devices"]["requests"][0]["firstAvailable"].reverse()

    assert digest_of(other) != digest_of(CLAIM)


def test_class_names_are_those_of_every_alternative():
    assert class_names(TEMPLATE) == [
        "gpu.nvidia.com",
        "mig.nvidia.com",
        "nic.example.com",
    ]


def test_admin_access_is_found_in_any_request():
    other = copy.deepcopy(CLAIM)
    other["spec"]["devices"]["requests"][1]["exactly"]["adminAccess"] = True

    assert asks_admin_access(other)
    assert not asks_admin_access(CLAIM)


def test_defaults_and_server_fields_are_no_change():
    sent = canonical(TEMPLATE, "id")

    assert changed_fields(sent, defaulted(sent)) == []


def test_a_quantity_written_otherwise_is_no_change():
    back = defaulted(CLAIM)
    back["spec"]["devices"]["requests"][0]["firstAvailable"][0]["capacity"] = {
        "requests": {"memory": "16Gi"}
    }

    assert changed_fields(CLAIM, back) == []


def test_empty_values_that_are_left_out_are_no_change():
    sent = copy.deepcopy(CLAIM)
    sent["spec"]["devices"]["config"] = []
    sent["spec"]["devices"]["requests"][1]["exactly"]["selectors"] = None

    assert changed_fields(sent, CLAIM) == []


def inner(body, **parts):
    """Return a template with parts of its spec's devices put in."""
    changed = copy.deepcopy(body)
    changed["spec"]["spec"]["devices"] |= parts
    return changed


OPAQUE = {"driver": "gpu.nvidia.com", "parameters": {"sharing": None, "slots": "1"}}
CONFIGURED = inner(TEMPLATE, config=[{"opaque": OPAQUE}])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEMPLATE, inner(TEMPLATE, config=[])),
        (TEMPLATE, {**TEMPLATE, "spec": {**TEMPLATE["spec"], "metadata": {}}}),
        (
            TEMPLATE,
            {**TEMPLATE, "spec": {**TEMPLATE["spec"], "metadata": {"labels": {}}}},
        ),
        (CONFIGURED, inner(TEMPLATE, config=[{"requests": [], "opaque": OPAQUE}])),
        ({**CLAIM, "spec": {}}, {**CLAIM, "spec": {"devices": {"requests": []}}}),
        (
            inner(TEMPLATE, requests=[asking_of("16Gi")]),
            inner(TEMPLATE, requests=[asking_of("16384Mi", selectors=[])]),
        ),
    ],
)
def test_specs_that_the_server_takes_for_equal(one, other):
    assert is_same_spec(one, other)
    assert is_same_spec(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEMPLATE, inner(TEMPLATE, constraints=[])),
        (TEMPLATE, inner(TEMPLATE, config=[{"opaque": OPAQUE}])),
        (labelled("1"), TEMPLATE),
        (labelled("1"), labelled("1.0")),
        (
            CONFIGURED,
            inner(TEMPLATE, config=[{"opaque": OPAQUE | {"parameters": {}}}]),
        ),
        (
            CONFIGURED,
            inner(
                TEMPLATE,
                config=[
                    {"opaque": OPAQUE | {"parameters": {"sharing": None, "slots": 1}}}
                ],
            ),
        ),
        (
            inner(TEMPLATE, requests=[asking_of("16Gi")]),
            inner(TEMPLATE, requests=[asking_of("16G")]),
        ),
        (
            inner(TEMPLATE, requests=[asking_of("1")]),
            inner(TEMPLATE, requests=[asking_of("1", adminAccess=False)]),
        ),
    ],
)
def test_specs_that_the_server_does_not_take_for_equal(one, other):
    assert not is_same_spec(one, other)
    assert not is_same_spec(other, one)


def test_what_a_server_drops_is_named():
    back = defaulted(TEMPLATE)
    inner = back["spec"]["spec"]["devices"]
    del inner["requests"][0]["firstAvailable"][0]["capacity"]
    del inner["constraints"]

    assert changed_fields(TEMPLATE, back) == [
        "spec.spec.devices.requests[0].firstAvailable[0].capacity",
        "spec.spec.devices.constraints",
    ]


@pytest.mark.parametrize(
    ("sent", "returned"),
    [(0, 1), ("16Gi", "15Gi"), (True, 1), (True, "true"), ("a", "b"), ([1], [1, 2])],
)
def test_what_a_server_changes_is_named(sent, returned):
    assert changed_fields({"x": sent}, {"x": returned}) == ["x"]


def test_paths_keep_keys_with_dots_whole():
    labels = {"labels": {"a.example.com/b": "1"}}

    assert changed_fields(labels, {"labels": {"c": "2"}}) == ["labels[a.example.com/b]"]
