"""What is refused as invalid: the field's path, the reason, and the words."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.cluster.client import Object
from tests.contract import objects
from tests.contract.expect import invalid

FIRST = "spec.devices.requests[0]"
EXACTLY = f"{FIRST}.exactly"
SELECTOR = f"{EXACTLY}.selectors[0].cel.expression"
COSTLY = "[1,2,3,4,5,6,7,8,9].exists(a, " * 7 + "a > 8" + ")" * 7
LONG = "true && " * 1280 + "true"


class Case(NamedTuple):
    """Something to send and the one cause of its refusal."""

    what: Any
    reason: str
    field: str
    says: str


def selecting(expression: str) -> Object:
    return objects.exactly(selectors=[{"cel": {"expression": expression}}])


def alternatives(*requests: Object) -> Object:
    return {"name": "gpu", "firstAvailable": list(requests)}


ALTERNATIVE = {"name": "big", "deviceClassName": "gpu.example.com"}

REQUESTS = {
    "neither exactly nor firstAvailable": Case(
        {"name": "gpu"},
        "FieldValueRequired",
        FIRST,
        "exactly one of `exactly` or `firstAvailable`",
    ),
    "both": Case(
        objects.exactly() | {"firstAvailable": [ALTERNATIVE]},
        "FieldValueInvalid",
        FIRST,
        "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
    ),
    "no alternative": Case(
        alternatives(),
        "FieldValueRequired",
        FIRST,
        "exactly one of `exactly` or `firstAvailable`",
    ),
    "too many alternatives": Case(
        alternatives(
            *({"name": f"n{i}", "deviceClassName": "gpu.example.com"} for i in range(9))
        ),
        "FieldValueTooMany",
        f"{FIRST}.firstAvailable",
        "Too many: 9: must have at most 8 items",
    ),
    "no class": Case(
        {"name": "gpu", "exactly": {}},
        "FieldValueRequired",
        f"{EXACTLY}.deviceClassName",
        "",
    ),
    "a class with a slash": Case(
        objects.exactly(deviceClassName="gpu/a100"),
        "FieldValueInvalid",
        f"{EXACTLY}.deviceClassName",
        "a lowercase RFC 1123 subdomain must consist of",
    ),
    "no name": Case(
        objects.exactly() | {"name": ""},
        "FieldValueInvalid",
        f"{FIRST}.name",
        'Invalid value: ""',
    ),
    "a name in capitals": Case(
        objects.exactly() | {"name": "GPU"},
        "FieldValueInvalid",
        f"{FIRST}.name",
        "a lowercase RFC 1123 label must consist of",
    ),
    "an alternative with a slash": Case(
        alternatives(ALTERNATIVE | {"name": "a/b"}),
        "FieldValueInvalid",
        f"{FIRST}.firstAvailable[0].name",
        "a lowercase RFC 1123 label must consist of",
    ),
    "an alternative without a class": Case(
        alternatives(ALTERNATIVE, {"name": "small"}),
        "FieldValueRequired",
        f"{FIRST}.firstAvailable[1].deviceClassName",
        "",
    ),
    "an alternative twice": Case(
        alternatives(ALTERNATIVE, ALTERNATIVE),
        "FieldValueDuplicate",
        f"{FIRST}.firstAvailable[1]",
        "Duplicate value",
    ),
    "a negative count": Case(
        objects.exactly(count=-1),
        "FieldValueInvalid",
        f"{EXACTLY}.count",
        "Invalid value: -1: must be greater than zero",
    ),
    "a count with All": Case(
        objects.exactly(allocationMode="All", count=2),
        "FieldValueInvalid",
        f"{EXACTLY}.count",
        "must not be specified when allocationMode is 'All'",
    ),
    "an unknown mode": Case(
        objects.exactly(allocationMode="Some"),
        "FieldValueNotSupported",
        f"{EXACTLY}.allocationMode",
        'Unsupported value: "Some": supported values: "All", "ExactCount"',
    ),
    "a negative count in an alternative": Case(
        alternatives(ALTERNATIVE | {"count": -2}),
        "FieldValueInvalid",
        f"{FIRST}.firstAvailable[0].count",
        "must be greater than zero",
    ),
    "a selector without cel": Case(
        objects.exactly(selectors=[{}]),
        "FieldValueRequired",
        f"{EXACTLY}.selectors[0].cel",
        "",
    ),
    "CEL that does not parse": Case(
        selecting("device.driver =="),
        "FieldValueInvalid",
        SELECTOR,
        "compilation failed: ERROR: <input>:1:17: Syntax error: mismatched input '<EOF>'",
    ),
    "CEL with an unknown field": Case(
        selecting("device.foo"),
        "FieldValueInvalid",
        SELECTOR,
        "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo\n | ......^",
    ),
    "CEL in an alternative": Case(
        alternatives(ALTERNATIVE | {"selectors": [{"cel": {"expression": "nothing"}}]}),
        "FieldValueInvalid",
        f"{FIRST}.firstAvailable[0].selectors[0].cel.expression",
        "undeclared reference to 'nothing'",
    ),
    "CEL that is no condition": Case(
        selecting("1 + 1"),
        "FieldValueInvalid",
        SELECTOR,
        "must evaluate to bool or the unknown type, not int",
    ),
    "no CEL": Case(selecting(""), "FieldValueInvalid", SELECTOR, "compilation failed"),
    "CEL that costs too much": Case(
        selecting(COSTLY),
        "FieldValueForbidden",
        SELECTOR,
        "too complex, exceeds cost limit",
    ),
    "CEL that is too long": Case(
        selecting(LONG),
        "FieldValueTooLong",
        SELECTOR,
        "Too long: may not be more than 10240 bytes",
    ),
    "a toleration with an unknown operator": Case(
        objects.exactly(tolerations=[{"key": "a", "operator": "Like"}]),
        "FieldValueNotSupported",
        f"{EXACTLY}.tolerations[0].operator",
        'Unsupported value: "Like": supported values: "Equal", "Exists"',
    ),
    "a toleration of existence with a value": Case(
        objects.exactly(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "FieldValueInvalid",
        f"{EXACTLY}.tolerations[0].value",
        "must be empty for operator `Exists`",
    ),
    "a toleration with an unknown effect": Case(
        objects.exactly(tolerations=[{"key": "a", "effect": "Maybe"}]),
        "FieldValueNotSupported",
        f"{EXACTLY}.tolerations[0].effect",
        'Unsupported value: "Maybe"',
    ),
}


def is_cause(cause: tuple[str, str, str], case: Case, field: str) -> bool:
    return cause[:2] == (case.reason, field) and case.says in cause[2]


def duplicate(field: str, minor: int) -> str:
    """Return where a minor says that an item of a list is there twice."""
    return f"{field}.name" if minor == 34 else field


def expected_field(case: Case, minor: int) -> str:
    is_duplicate = case.reason == "FieldValueDuplicate"
    return duplicate(case.field, minor) if is_duplicate else case.field


@pytest.mark.parametrize("name", REQUESTS)
def test_invalid_request_of_a_claim(api, namespace, name):
    case = REQUESTS[name]

    refused = invalid(api.client(), objects.claim("a", namespace, case.what))

    assert len(refused.causes) == 1
    assert is_cause(refused.causes[0], case, expected_field(case, api.minor)), (
        refused.causes
    )


@pytest.mark.parametrize("name", REQUESTS)
def test_invalid_request_of_a_template(api, namespace, name):
    case = REQUESTS[name]

    refused = invalid(api.client(), objects.template("a", namespace, case.what))

    assert len(refused.causes) == 1
    assert is_cause(
        refused.causes[0], case, f"spec.{expected_field(case, api.minor)}"
    ), refused.causes


def test_the_message_says_kind_name_field_and_cause(admin, namespace):
    refused = invalid(admin, objects.claim("a", namespace, objects.exactly(count=-1)))

    assert refused.message == (
        'ResourceClaim.resource.k8s.io "a" is invalid: '
        f"{EXACTLY}.count: Invalid value: -1: must be greater than zero"
    )
    assert refused.status["details"] == {
        "name": "a",
        "group": "resource.k8s.io",
        "kind": "ResourceClaim",
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: -1: must be greater than zero",
                "field": f"{EXACTLY}.count",
            }
        ],
    }


def test_several_causes_are_all_told(admin, namespace):
    second = {"name": "b/c", "exactly": {"deviceClassName": "x/y", "count": -1}}

    refused = invalid(admin, objects.claim("a", namespace, {"name": "gpu"}, second))

    assert refused.fields == {
        FIRST,
        "spec.devices.requests[1].name",
        "spec.devices.requests[1].exactly.deviceClassName",
        "spec.devices.requests[1].exactly.count",
    }
    assert refused.message.startswith('ResourceClaim.resource.k8s.io "a" is invalid: [')


@pytest.mark.parametrize("name", ["a/b", "A", "a_b", "-a", "a" * 254])
def test_bad_object_names(admin, namespace, name):
    refused = invalid(admin, objects.claim(name, namespace))

    assert refused.fields == {"metadata.name"}


def test_two_requests_of_one_name(api, namespace):
    refused = invalid(
        api.client(),
        objects.claim("a", namespace, objects.exactly(), objects.exactly()),
    )

    assert {(reason, field) for reason, field, _ in refused.causes} == {
        ("FieldValueDuplicate", duplicate("spec.devices.requests[1]", api.minor))
    }


def test_too_many_requests(admin, namespace):
    requests = [objects.exactly() | {"name": f"gpu-{number}"} for number in range(33)]

    refused = invalid(admin, objects.claim("a", namespace, *requests))

    assert ("FieldValueTooMany", "spec.devices.requests") in {
        cause[:2] for cause in refused.causes
    }


CONSTRAINT = "spec.devices.constraints[0]"


@pytest.mark.parametrize(
    ("constraint", "reason", "field"),
    [
        (
            {"requests": ["nope"], "matchAttribute": "gpu.example.com/model"},
            "FieldValueInvalid",
            f"{CONSTRAINT}.requests[0]",
        ),
        (
            {"requests": ["gpu"], "matchAttribute": "model"},
            "FieldValueInvalid",
            f"{CONSTRAINT}.matchAttribute",
        ),
        (
            {"requests": ["gpu", "gpu"], "matchAttribute": "gpu.example.com/model"},
            "FieldValueDuplicate",
            f"{CONSTRAINT}.requests[1]",
        ),
    ],
)
def test_bad_constraints(admin, namespace, constraint, reason, field):
    manifest = objects.claim("a", namespace)
    manifest["spec"]["devices"]["constraints"] = [constraint]

    refused = invalid(admin, manifest)

    assert (reason, field) in {cause[:2] for cause in refused.causes}


def test_a_constraint_without_an_attribute(api, namespace):
    manifest = objects.claim("a", namespace)
    manifest["spec"]["devices"]["constraints"] = [{"requests": ["gpu"]}]

    refused = invalid(api.client(), manifest)

    field = f"{CONSTRAINT}.matchAttribute" if api.minor == 34 else CONSTRAINT
    assert [cause[:2] for cause in refused.causes] == [("FieldValueRequired", field)]


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, "spec.devices.config[0].opaque"),
        (
            {"opaque": {"driver": "Bad Driver", "parameters": {"a": 1}}},
            "spec.devices.config[0].opaque.driver",
        ),
        (
            {"opaque": {"driver": "gpu.example.com"}},
            "spec.devices.config[0].opaque.parameters",
        ),
        (
            {"opaque": {"driver": "gpu.example.com", "parameters": "text"}},
            "spec.devices.config[0].opaque.parameters",
        ),
        (
            {
                "requests": ["nope"],
                "opaque": {"driver": "gpu.example.com", "parameters": {}},
            },
            "spec.devices.config[0].requests[0]",
        ),
    ],
)
def test_bad_config(admin, namespace, config, field):
    manifest = objects.claim("a", namespace)
    manifest["spec"]["devices"]["config"] = [config]

    assert field in invalid(admin, manifest).fields
