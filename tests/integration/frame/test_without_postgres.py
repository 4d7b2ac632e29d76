"""What a browser gets while Postgres is away: 503, in its language, and no traceback."""

from __future__ import annotations

import logging

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection
from django.test import AsyncClient, Client

SESSION = {settings.SESSION_COOKIE_NAME: "s" * 32}


@pytest.fixture
def away(django_db_blocker, tmp_path):
    """Have Postgres be where nobody listens."""
    kept = connection.settings_dict["HOST"]
    with django_db_blocker.unblock():
        connection.close()
        connection.settings_dict["HOST"] = str(tmp_path)
        yield
        connection.close()
        connection.settings_dict["HOST"] = kept


@pytest.fixture
def person(away):
    made = Client(raise_request_exception=False)
    made.cookies.load(SESSION)
    return made


@pytest.mark.parametrize("address", ["/", "/c/demo/", "/approvals/", "/audit/"])
def test_a_page_says_that_the_database_is_away(person, caplog, address):
    with caplog.at_level(logging.ERROR, "django.request"):
        answer = person.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    text = answer.content.decode()
    assert "The database cannot be used now: try again in a moment." in text
    assert "<html" in text
    assert "Content-Security-Policy" in answer
    assert {each.name for each in caplog.records} == {"portal.core.views"}
    assert not any(each.exc_info for each in caplog.records)
    assert Client().get("/healthz").status_code == 200


def test_it_says_so_in_the_language_of_the_browser(person):
    answer = person.get("/", HTTP_ACCEPT_LANGUAGE="ko")
    assert (answer.status_code, 'lang="ko"' in answer.content.decode()) == (503, True)
    assert "데이터베이스를 쓸 수 없습니다" in answer.content.decode()


def test_a_fragment_gets_the_sentence_alone(person):
    answer = person.get("/", HTTP_HX_REQUEST="true")
    assert (answer.status_code, "<html" in answer.content.decode()) == (503, False)


def test_below_the_api_it_is_a_problem_document(person):
    answer = person.get("/api/v1/clusters")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer.json()["code"] == "portal.database"


def test_a_page_that_waits_on_the_loop_says_so_too(away):
    client = AsyncClient(raise_request_exception=False)
    client.cookies.load(SESSION)
    answer = async_to_sync(client.get)("/c/demo/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")


def test_a_defect_stays_one(person, monkeypatch):
    def broken(*_args):
        raise ValueError("a defect")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", broken)
    assert person.get("/").status_code == 500
