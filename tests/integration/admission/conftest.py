"""A cluster loaded from fleets, and a client that speaks as an API server does."""

from __future__ import annotations

import json

import pytest

from tests.integration.admission.reviews import review, sent


@pytest.fixture(autouse=True)
def afresh(settings):
    """Switch admission on, and let no answer of another test live on."""
    from portal.admission.queries import rules
    from portal.admission.services import advising, budgeting, reviewing
    from portal.admission.services.recording import tally

    settings.SLICEWISE_ADMISSION = True
    settings.SLICEWISE_ADMISSION_CLUSTER = "demo"

    def forget():
        reviewing.forget()
        rules.forget()
        advising.forget()
        budgeting.forget()

    forget()
    yield forget
    forget()
    tally._counts.clear()


@pytest.fixture(autouse=True)
def one_connection(monkeypatch):
    """Judge in the test's own thread, which sees the test's transaction."""
    from portal.admission.views import webhook

    real = webhook.sync_to_async
    monkeypatch.setattr(
        webhook, "sync_to_async", lambda call, **_: real(call, thread_sensitive=True)
    )
    monkeypatch.setattr(webhook, "close_old_connections", lambda: None)


@pytest.fixture
def post(db):
    """Return a function that posts a document to a webhook and returns the response."""

    def do(path, document):
        whole = document if isinstance(document, bytes) else json.dumps(document)
        return sent(path, whole if isinstance(whole, bytes) else whole.encode())

    return do


@pytest.fixture
def ask(post):
    """Return a function that asks a webhook about an object; the answer's response."""

    def do(body, *args, endpoint="validate", path="", **more):
        document = review(body, *args, **more)
        response = post(f"/admission/{endpoint}{path}", document)
        assert response.status_code == 200, response.content
        answer = response.json()
        assert answer["kind"] == "AdmissionReview"
        assert answer["response"]["uid"] == document["request"]["uid"]
        return answer["response"]

    return do


@pytest.fixture
def rule(db, now, afresh):
    """Return a function that stores a rule, or changes one."""
    from portal.admission.models import GuardRule

    def do(name, **fields):
        row, _made = GuardRule.objects.update_or_create(
            name=name,
            defaults={
                "mode": "deny",
                "changed_by": "dora",
                "changed_at": now,
                **fields,
            },
        )
        afresh()
        return row

    return do
