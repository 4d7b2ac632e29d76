from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from inventory.models import Cluster
from portal.accounts.models import User
from portal.core.errors import PortalError
from portal.core.freshness import age, freshness_of

ROOT = Path(settings.BASE_DIR)
NOW = dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.UTC)
STATIC_BUDGET = {"css": 30_000, "js": 80_000}


@pytest.fixture
def cluster(db):
    return Cluster.objects.create(name="demo", kind="live", revision=7)


@pytest.fixture
def page(client, cluster):
    client.force_login(User.objects.create_user("ada"))
    return client.get("/nothing/")


def test_not_found_is_in_words_and_inside_the_frame(page):
    html = page.content.decode()

    assert page.status_code == 404
    assert "There is nothing here" in html
    assert 'sse-connect="/c/demo/events?since=7"' in html
    assert '<a class="skip" href="#main">' in html
    assert 'aria-live="polite"' in html


@pytest.mark.parametrize("name", ["400", "403", "404", "500", "403_csrf"])
def test_error_pages_render_without_any_context(name):
    assert "<h1>" in render_to_string(f"{name}.html")


def test_csrf_failure_is_in_words(db):
    response = Client(enforce_csrf_checks=True).post("/preferences/theme")

    assert response.status_code == 403
    assert "This form is too old" in response.content.decode()


def test_content_security_policy_allows_only_our_files(page):
    policy = page["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "nonce" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(("permanent", "status"), [(True, 409), (False, 503)])
def test_an_anticipated_error_is_one_sentence(
    client, cluster, monkeypatch, permanent, status
):
    class Refusal(PortalError):
        code = "test.refused"

    Refusal.permanent = permanent

    def fail(*args, **kwargs):
        raise Refusal("Ask again tomorrow.")

    monkeypatch.setattr("portal.frame.get_object_or_404", fail)
    client.force_login(User.objects.create_user("ada"))

    page = client.get("/c/demo/freshness")
    part = client.get("/c/demo/freshness", headers={"HX-Request": "true"})

    assert (page.status_code, part.status_code) == (status, status)
    assert "<html" in page.content.decode()
    assert "Ask again tomorrow." in page.content.decode()
    assert "<html" not in part.content.decode()
    assert "test.refused" in part.content.decode()


def test_templates_hold_neither_styles_nor_scripts():
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"\sstyle=|\son\w+=|<style", text), path
        assert not re.search(r"<script(?![^>]*src=)", text), path


def test_static_files_stay_within_their_budget(page):
    sizes = {
        kind: sum(path.stat().st_size for path in (ROOT / "static" / kind).glob("*"))
        for kind in STATIC_BUDGET
        if (ROOT / "static" / kind).is_dir()
    }

    assert {
        kind: size for kind, size in sizes.items() if size > STATIC_BUDGET[kind]
    } == {}


def test_the_frame_makes_one_query_for_any_number_of_clusters(
    client, cluster, django_assert_num_queries
):
    client.force_login(User.objects.create_user("ada"))
    client.get("/nothing/")
    for number in range(20):
        Cluster.objects.create(name=f"c{number}", kind="live")

    # session, person, clusters, unread notices
    with django_assert_num_queries(4):
        client.get("/nothing/")


def test_freshness_fragment(client, cluster):
    client.force_login(User.objects.create_user("ada"))

    assert "not read yet" in client.get("/c/demo/freshness").content.decode()
    assert client.get("/c/other/freshness").status_code == 404


@pytest.mark.parametrize(
    ("kind", "heard", "failed", "expected"),
    [
        ("live", None, None, ("warn", "not read yet")),
        ("live", 3, None, ("good", "live")),
        ("live", 100, None, ("warn", "no news; last read")),
        ("live", 100, 5, ("bad", "cannot be reached; last read")),
        ("live", None, 5, ("bad", "cannot be reached")),
        ("live", 3, 5, ("good", "live")),
        ("offline", 9000, None, ("info", "loaded from files")),
    ],
)
def test_freshness_of(kind, heard, failed, expected):
    def ago(seconds):
        return None if seconds is None else NOW - dt.timedelta(seconds=seconds)

    cluster = SimpleNamespace(
        kind=kind, heard_at=ago(heard), failed_at=ago(failed), failure="refused"
    )

    fresh = freshness_of(cluster, now=NOW)

    assert (fresh.kind, fresh.text) == expected
    assert fresh.at == ago(heard)


@pytest.mark.parametrize(
    ("seconds", "english", "korean"),
    [
        (-5, "0 s ago", "0초 전"),
        (59, "59 s ago", "59초 전"),
        (60, "1 min ago", "1분 전"),
        (7199, "1 h ago", "1시간 전"),
        (200_000, "2 d ago", "2일 전"),
    ],
)
def test_age(seconds, english, korean):
    at = NOW - dt.timedelta(seconds=seconds)

    assert age(at, now=NOW) == english
    with translation.override("ko"):
        assert age(at, now=NOW) == korean


def _tokens(theme: int) -> dict[str, str]:
    text = (ROOT / "static/css/tokens.css").read_text()
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", text)
    return {name: (light, dark)[theme] for name, light, dark in pairs}


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEXT = [
    *((ink, paper) for ink in ("ink", "muted", "accent", "good", "warn", "bad", "info")
      for paper in ("bg", "panel", "sunken")),
    ("good", "good-soft"),
    ("warn", "warn-soft"),
    ("bad", "bad-soft"),
    ("ink", "bad-soft"),
    ("muted", "bad-soft"),
    ("info", "accent-soft"),
    ("ink", "accent-soft"),
    ("muted", "accent-soft"),
    ("accent-ink", "accent"),
    ("on-mark", "mine"),
    ("on-mark", "other"),
    ("ink", "free"),
]  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_read(theme):
    colours = _tokens(theme)

    low = {
        pair: round(_contrast(colours[pair[0]], colours[pair[1]]), 2)
        for pair in TEXT
        if _contrast(colours[pair[0]], colours[pair[1]]) < 4.5
    }
    edges = {
        paper: round(_contrast(colours["edge"], colours[paper]), 2)
        for paper in ("bg", "panel", "free")
        if _contrast(colours["edge"], colours[paper]) < 3
    }
    assert (low, edges) == ({}, {})
