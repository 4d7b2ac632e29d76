"""The webhooks as they are served alone: the same answers, most of them from memory."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from django.utils import timezone

from portal.admission.domain.review import Verdict
from portal.admission.models import GuardCount
from portal.admission.services import reviewing
from portal.admission.services.recording import tally
from portal.admission.views import webhook
from portal.admission.views.webhook import MOST_BYTES, Judge
from tests.integration.admission.reviews import claim, device_class, review, sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(fleet_cluster):
    return fleet_cluster


@pytest.fixture
def send(db):
    """Return a function that sends bytes to a path; status and body of the answer."""

    def do(path, body=b"", **more):
        answer = sent(path, body, **more)
        return answer.status_code, answer.content.decode()

    return do


@pytest.fixture
def judged(send):
    """Return a function that sends a review; the answer's response."""

    def do(body, path="/admission/validate", **more):
        status, text = send(path, json.dumps(review(body, **more)).encode())
        assert status == 200, text
        return json.loads(text)["response"]

    return do


@pytest.mark.parametrize(
    ("path", "more", "status", "says"),
    [
        ("/admission/nothing", {}, 404, "no such webhook"),
        ("/admission/validate/", {}, 404, "no such webhook"),
        ("/admission/validate//fail", {}, 404, "no such webhook"),
        ("/admission/validate/demo/never", {}, 404, "no such webhook"),
        ("/admission/mutate/demo/fail", {}, 404, "no such webhook"),
        ("/admission/validate", {"method": "GET"}, 405, "POST"),
        ("/admission/validate", {"body": b"{"}, 400, "no JSON"),
        ("/admission/validate", {"content_type": "text/plain"}, 400, "json"),
        ("/admission/mutate", {"body": b" " * (MOST_BYTES + 2)}, 413, "at most"),
    ],
)
def test_what_is_no_review_gets_a_clear_answer(demo, send, path, more, status, says):
    found, text = send(path, **more)
    assert found == status
    assert says in text


@pytest.mark.parametrize("path", ["", "/ignore", "/demo", "/demo/ignore"])
def test_each_address_judges(demo, judged, path):
    denied = judged(claim(count=40), f"/admission/validate{path}")
    assert "[diagnostics]" in denied["status"]["message"]


def test_an_unknown_cluster_is_named(demo, send):
    body = json.dumps(review(claim())).encode()
    status, text = send("/admission/validate/nowhere", body)
    assert (status, "nowhere" in text) == (404, True)


def no_thread(*_args, **_more):
    raise AssertionError("this needs no thread")


def test_what_was_judged_is_answered_from_memory(demo, judged, monkeypatch):
    first = judged(claim(), "/admission/validate/demo/ignore", dry_run=True)
    judged(claim(), "/admission/mutate/demo")
    monkeypatch.setattr(webhook, "sync_to_async", no_thread)
    for name in ("a", "b"):
        again = judged(
            claim(name=name), "/admission/validate/demo/ignore", dry_run=True
        )
        assert again["allowed"] is first["allowed"] is True
    assert judged(claim(), "/admission/mutate/demo")["allowed"] is True


def test_what_memory_answers_is_counted(demo, judged, monkeypatch):
    monkeypatch.setattr(tally, "is_due", lambda: False)
    for name in ("a", "b", "c"):
        judged(claim(name=name))
    tally.flush()
    assert GuardCount.objects.get(rule__name="diagnostics").seen == 3


def test_a_verdict_is_found_anew_before_it_is_over(demo, judged, monkeypatch):
    sound = device_class('device.driver == "gpu.nvidia.com"')
    judged(sound)
    calls = []
    real = reviewing._judged
    monkeypatch.setattr(
        reviewing,
        "_judged",
        lambda *args, **more: calls.append(args[1]) or real(*args, **more),
    )
    reviewing.refresh(now=timezone.now())
    assert not calls
    monkeypatch.setattr(reviewing, "RENEWED_SECONDS", -1.0)
    monkeypatch.setattr(tally, "is_due", lambda: False)
    judged(sound)
    assert not calls
    reviewing.refresh(now=timezone.now())
    # It is nobody's review, so nothing is written of it.
    assert [each.dry_run for each in calls] == [True]


def test_a_change_of_a_rule_counts_after_a_refresh(demo, judged, rule):
    from portal.admission.models import GuardRule

    assert judged(claim(count=40))["allowed"] is False
    GuardRule.objects.filter(name="diagnostics").update(mode="warn")
    reviewing.refresh(now=timezone.now())
    assert judged(claim(count=40))["allowed"] is True
    type(demo).objects.filter(pk=demo.pk).update(name="moved")
    reviewing.refresh(now=timezone.now())
    assert "demo" not in reviewing._names


def test_no_more_reviews_judge_at_once_than_connections_are_counted(monkeypatch):
    """docs/admin.md says how many connections Postgres must allow for them."""
    monkeypatch.undo()  # threads of their own, as they are served
    threads, all_asked = set(), threading.Event()

    def judged(_judge, _review):
        threads.add(threading.get_ident())
        all_asked.wait(10)
        return Verdict(allowed=True)

    monkeypatch.setattr(webhook, "_judged", judged)
    monkeypatch.setattr(Judge, "at_once", lambda *_: None)
    body = json.dumps(review(claim())).encode()

    async def go_on():
        all_asked.set()

    async def all_at_once():
        asked = (
            webhook.answer(Judge("validate"), "application/json", body)
            for _ in range(3 * webhook.THREADS)
        )
        *answers, _none = await asyncio.gather(*asked, go_on())
        return answers

    assert {each.status for each in asyncio.run(all_at_once())} == {200}
    assert len(threads) == webhook.THREADS
