from __future__ import annotations

import pytest

from claims.domain.draft import AlternativeDraft, Draft, RequestDraft
from claims.domain.rewriting import with_change
from claims.domain.why.changes import NoSuchPlace, changed, steps_of, without_request

CLAIM = {
    "kind": "ResourceClaim",
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "a",
                    "exactly": {
                        "count": 4,
                        "capacity": {"requests": {"x.y/memory": "1Gi"}},
                    },
                },
                {"name": "b", "exactly": {}},
            ],
            "constraints": [
                {"requests": ["a", "b"], "matchAttribute": "k"},
                {"requests": ["a/sub"], "distinctAttribute": "k"},
                {"matchAttribute": "k"},
            ],
        }
    },
}


def test_paths_are_taken_in_steps():
    path = "spec.devices.requests[0].exactly.capacity.requests[x.y/memory]"

    assert steps_of(path) == [
        "spec",
        "devices",
        "requests",
        0,
        "exactly",
        "capacity",
        "requests",
        "x.y/memory",
    ]


def test_a_value_is_replaced_or_removed_and_the_claim_stays():
    before = repr(CLAIM)
    path = "spec.devices.requests[0].exactly"

    lower = changed(CLAIM, f"{path}.count", 2)
    less = changed(CLAIM, f"{path}.capacity.requests[x.y/memory]", None)
    fewer = changed(CLAIM, "spec.devices.constraints[1]", None)

    assert lower["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2
    assert less["spec"]["devices"]["requests"][0]["exactly"]["capacity"] == {
        "requests": {}
    }
    assert len(fewer["spec"]["devices"]["constraints"]) == 2
    assert repr(CLAIM) == before


@pytest.mark.parametrize(
    "path",
    ["spec.devices.requests[7].exactly", "spec[0]", "kind.x", "spec.[", "", "spec..x"],
)
def test_a_place_that_is_not_there_is_an_error(path):
    with pytest.raises(NoSuchPlace):
        changed(CLAIM, path, 1)


def test_a_request_goes_with_what_names_only_it():
    devices = without_request(CLAIM, 0)["spec"]["devices"]

    assert [request["name"] for request in devices["requests"]] == ["b"]
    assert devices["constraints"] == [
        {"requests": ["b"], "matchAttribute": "k"},
        {"matchAttribute": "k"},
    ]


DRAFT = Draft(
    namespace="ns",
    name="x",
    requests=(
        RequestDraft(
            "gpu",
            alternatives=(
                AlternativeDraft(device_class="c", count="4", selectors=("true",)),
            ),
        ),
    ),
)
PATH = "spec.spec.devices.requests[0].exactly"


def rewritten(path, text, draft=DRAFT):
    return with_change(draft, path, text)


def test_an_offered_change_is_made_in_the_form():
    after = rewritten(f"{PATH}.count", "2")

    assert after.requests[0].alternatives[0].count == "2"
    assert after.namespace == "ns"
    gone = rewritten(f"{PATH}.selectors[0]", "null")
    assert not any(text for text in gone.requests[0].alternatives[0].selectors)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{PATH}.count", "{"),
        (f"{PATH}.count", "[1]"),
        ("spec.nowhere[3]", "1"),
        ("spec", "3"),
        ("", "3"),
        ("kind", '"Pod"'),
    ],
)
def test_nonsense_leaves_the_form_as_it_is(path, text):
    assert rewritten(path, text) == DRAFT
