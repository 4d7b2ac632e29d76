"""`exactly` into a list: in every version, once, and only where it may be."""

from __future__ import annotations

import copy

import pytest

from portal.admission.domain.fallback import (
    BadFallback,
    Fallback,
    changed,
    check_alternatives,
    refusal,
    tier_of,
)
from portal.admission.domain.review import read_review
from tests.integration.admission.reviews import claim, portal, review

MIG = {"name": "mig", "deviceClassName": "mig.nvidia.com", "count": 2}
TO_MIG = Fallback("to-mig", "gpu.nvidia.com", (MIG,), ("ai-*",))


def read(body, **more):
    return read_review(review(body, **more))


def applied(body, patch):
    """Return a body after a patch of tests and replacements of list elements."""
    changed_body = copy.deepcopy(body)
    for step in patch:
        *path, last = step["path"].strip("/").split("/")
        place = changed_body
        for key in path:
            place = place[key]
        if step["op"] == "test":
            assert place[int(last)] == step["value"]
        else:
            place[int(last)] = step["value"]
    return changed_body


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_the_patch_fits_the_version_that_was_sent(version):
    body = claim(version=version, count=2)
    before = copy.deepcopy(body)
    found = changed(read(body), [TO_MIG])
    assert body == before
    (request,) = applied(body, found.patch)["spec"]["devices"]["requests"]
    assert set(request) == {"name", "firstAvailable"}
    asked, mig = request["firstAvailable"]
    assert asked["name"] == "asked"
    assert asked["count"] == 2
    assert mig == {**MIG, "allocationMode": "ExactCount", "count": 4}
    assert found.body["spec"]["devices"]["requests"] == [request]


def test_a_second_call_changes_nothing():
    body = claim()
    once = applied(body, changed(read(body), [TO_MIG]).patch)
    assert changed(read(once), [TO_MIG]) is None
    assert refusal(read(once)) == "fallback.has_alternatives"


def test_only_where_a_fallback_is_for_it():
    assert changed(read(claim("maple-lab")), [TO_MIG]) is None
    assert changed(read(claim(deviceClassName="mig.nvidia.com")), [TO_MIG]) is None
    assert changed(read(claim(allocationMode="All")), [TO_MIG]) is None


@pytest.mark.parametrize(
    ("body", "more", "code"),
    [
        (claim(), {}, ""),
        (claim(), {"extra": portal("x")}, "fallback.portal"),
        (claim(labels={"slicewise.io/fallback": "off"}), {}, "fallback.opted_out"),
        (claim(adminAccess=True), {}, "fallback.admin_access"),
    ],
)
def test_what_is_never_changed(body, more, code):
    assert refusal(read(body, **more)) == code


def test_config_is_bound_to_what_was_asked_for():
    body = claim()
    body["spec"]["devices"]["config"] = [{"requests": ["gpu"]}]
    assert refusal(read(body)) == "fallback.has_config"


@pytest.mark.parametrize(
    ("own", "space", "tier"),
    [
        ({}, {}, "online"),
        ({}, {"slicewise.io/workload-tier": "batch-offline"}, "batch-offline"),
        (
            {"slicewise.io/workload-tier": "online"},
            {"slicewise.io/workload-tier": "batch-offline"},
            "online",
        ),
        ({"slicewise.io/workload-tier": "whatever"}, {}, "online"),
    ],
)
def test_the_tier(own, space, tier):
    assert tier_of(read(claim(labels=own)), space) == tier


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        [MIG] * 2,
        [{"name": "asked", "deviceClassName": "x"}],
        [{"name": "a"}],
        [{**MIG, "adminAccess": True}],
        [{**MIG, "count": 0}],
        [{**MIG, "count": True}],
        [MIG | {"name": f"m{i}"} for i in range(8)],
    ],
)
def test_alternatives_that_cannot_be_used_are_refused(value):
    with pytest.raises(BadFallback):
        check_alternatives(value)
