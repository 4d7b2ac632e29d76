"""How many requests a client may send a minute, and what it is told of that."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as Away

from portal.api import throttling
from portal.core import kept

RATES = {"read": 3, "check": 2, "write": 1}


@pytest.fixture(autouse=True)
def few(settings, monkeypatch):
    """Allow few, all in one minute."""
    settings.SLICEWISE_API_RATES = RATES
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_000_015.0)


def headers(answer):
    return [
        int(answer[f"RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset")
    ]


def test_every_answer_says_what_is_left_and_the_next_is_refused(call, ada):
    caller = call(ada)

    assert [headers(caller.get("me")) for _ in range(3)] == [
        [3, 2, 45],
        [3, 1, 45],
        [3, 0, 45],
    ]
    refused = caller.get("me")
    assert (refused.status_code, refused["Retry-After"]) == (429, "45")
    assert refused.json()["code"] == "request.too_many"
    assert headers(refused) == [3, 0, 45]


def test_reading_checking_and_writing_are_counted_apart_and_each_token_by_itself(
    call, ada, held_cluster
):
    caller = call(ada)
    body = {"expression": "true"}

    assert headers(caller.get("me"))[:2] == [3, 2]
    assert headers(caller.post("clusters/demo/cel", body))[:2] == [2, 1]
    assert headers(caller.post("notices/read", {}))[:2] == [1, 0]
    assert caller.post("notices/read", {}).status_code == 429
    assert caller.get("me").status_code == 200
    assert headers(call(ada).get("me"))[:2] == [3, 2]


def test_a_refusal_counts_too(call, ada):
    caller = call(ada)

    assert headers(caller.get("clusters/nowhere"))[1] == 2
    assert headers(caller.get("me?colour=red"))[1] == 1


def test_without_the_cache_nobody_is_turned_down(call, ada, monkeypatch):
    def away(*_given, **_more):
        raise Away

    monkeypatch.setattr(kept.cache, "incr", away)
    caller = call(ada)

    for _ in range(5):
        answer = caller.get("me")
        assert answer.status_code == 200
        assert not answer.has_header("RateLimit-Limit")
