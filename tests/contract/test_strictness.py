"""Strict decoding: unknown, duplicate and wrongly typed fields."""

from __future__ import annotations

from tests.cluster.client import path_of
from tests.contract import objects
from tests.contract.expect import refusal


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
