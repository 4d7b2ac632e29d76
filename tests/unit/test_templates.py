"""What holds of every template."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from portal.core.templatetags.portal_ui import moment

TEMPLATES = Path(__file__).parents[2] / "templates"
PART = re.compile(
    r"{% partialdef ([\w-]+) inline %}(.*?){% endpartialdef \1 %}", re.DOTALL
)
REFRESHES = re.compile(r'hx-trigger="[^"]*(?:sse:|every )')
TYPED = re.compile(r'<(?:textarea|select|input(?![^>]*type="hidden"))[^>]*>')
REPLACES = re.compile(r'hx-trigger="[^>]*hx-sync="this:replace"[^>]*')
SCROLLS = re.compile(r'<div class="(?:[^"]* )?scroll(?: [^"]*)?"[^>]*>')


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: p.stem
)
def test_what_scrolls_can_be_scrolled_from_the_keyboard_and_has_a_name(path):
    for found in SCROLLS.findall(path.read_text()):
        assert 'tabindex="0"' in found, found
        assert 'role="group"' in found, found
        assert re.search(r"aria-label(ledby)?=", found), found


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: p.stem
)
def test_what_refreshes_itself_holds_no_field_that_is_typed_into(path):
    for _, part in PART.findall(path.read_text()):
        if REFRESHES.search(part):
            assert TYPED.findall(part) == []


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: p.stem
)
def test_what_drops_its_question_for_a_newer_one_lets_one_be_answered(path):
    for tag in REPLACES.findall(path.read_text()):
        if "sse:" in tag:
            assert 'data-pace="' in tag, tag
        assert "throttle:" not in tag, tag


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: p.stem
)
def test_no_panel_is_read_out_whenever_it_is_refreshed(path):
    for tag in re.findall(r"<[a-z]+ [^>]*aria-live=[^>]*>", path.read_text()):
        assert not re.search(r'class="(body|stack|panel|room)', tag), tag
        assert "sse:" not in tag


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.html")), ids=lambda p: p.stem
)
def test_a_time_of_day_names_its_zone(path):
    for form in re.findall(r"""date:["']([^"']*)["']""", path.read_text()):
        assert "H:i" not in form or form.endswith(" e"), form


@pytest.mark.parametrize(
    ("zone", "args", "words"),
    [
        ("UTC", (), "2026-12-01 06:00 UTC"),
        ("Asia/Seoul", ("seconds",), "2026-12-01 15:00:07 KST"),
    ],
)
def test_moment_names_its_zone(zone, args, words):
    with timezone.override(zone):
        assert moment(datetime(2026, 12, 1, 6, 0, 7, tzinfo=UTC), *args) == words
    assert moment(None) == ""
