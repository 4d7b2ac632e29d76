"""Reviews with anything anywhere: an answer or a sentence, never a defect.

The number of examples is bounded; FUZZ=500 draws more.
"""

from __future__ import annotations

import copy
import os

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.admission.models import AdmissionDecision
from tests.integration.admission.reviews import claim, device_class, review

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FUZZ", "30"))
SCRIPT = "\"'><script>alert(1)</script>"
LINES = 'one\r\nSet-Cookie: two=3\n{"level": "error"}'
JUNK = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            0,
            -1,
            2**63,
            10**400,
            0.5,
            "",
            [],
            {},
            SCRIPT,
            LINES,
            "\0",
            "a" * 9999,
        ]
    ),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=12,
    ),
)
BODIES = st.sampled_from(
    [
        claim(),
        claim(kind="ResourceClaimTemplate"),
        claim(version="v1beta1", adminAccess=True),
        claim(capacity={"requests": {"memory": "16Gi"}}),
        device_class('device.driver == "gpu.nvidia.com"'),
    ]
)
ENDPOINTS = ("validate", "mutate", "validate/demo/fail", "validate/demo/ignore")


def _places(value, path=()):
    """Yield the path of every value inside a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = enumerate(value)
    for key, each in inner:
        yield from _places(each, (*path, key))


@st.composite
def reviews(draw):
    """Return a review with one to three values exchanged, or removed."""
    document = copy.deepcopy(review(draw(BODIES)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(_places(document))))
        if not path:
            return draw(JUNK)
        place = document
        for key in path[:-1]:
            place = place[key]
        if draw(st.booleans()):
            place[path[-1]] = draw(JUNK)
        elif isinstance(place, dict):
            del place[path[-1]]
    return document


@given(document=reviews(), endpoint=st.sampled_from(ENDPOINTS))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_review_is_answered(fleet_cluster, post, capsys, document, endpoint):
    text = DjangoJSONEncoder().encode(document).encode()
    response = post(f"/admission/{endpoint}", text)

    assert response.status_code in {200, 400, 413}
    assert set(response.cookies) == set()
    if response.status_code == 200:
        answer = response.json()
        assert answer["kind"] == "AdmissionReview"
        assert answer["response"]["uid"] == document["request"]["uid"]
        assert isinstance(answer["response"]["allowed"], bool)
    else:
        assert response["Content-Type"].startswith("text/plain")
        assert len(response.content) < 2000
    # What it logs stays one line an event, whatever is in it.
    logged = capsys.readouterr().err
    assert "\nSet-Cookie" not in logged
    assert "Traceback" not in logged


def test_a_refusal_quotes_little_of_what_was_sent(fleet_cluster, post):
    sent = review({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    sent["request"]["kind"]["group"] = "한" * 10_000
    response = post("/admission/validate", sent)
    assert response.status_code == 400
    assert 400 < len(response.content) < 2000


def test_a_review_nested_too_deep_is_refused(fleet_cluster, post):
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        assert post("/admission/validate", deep).status_code == 400


def test_ten_megabytes_are_not_even_read(fleet_cluster, post):
    body = claim()
    body["metadata"]["annotations"] = {"a": "x" * 10_000_000}
    response = post("/admission/validate", review(body))
    assert response.status_code == 413
    assert not AdmissionDecision.objects.exists()
