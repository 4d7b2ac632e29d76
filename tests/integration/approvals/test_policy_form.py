"""The form of the policy: typed, edited, tried and put in force, and losing nothing."""

from __future__ import annotations

import json

import pytest

from portal.approvals.domain.policy import Effect
from portal.approvals.models import PolicySet
from portal.approvals.queries.policies import policy_in_force

RULES = {
    "rules-0-name": "many",
    "rules-0-effect": "approve",
    "rules-0-approvals": "1",
    "rules-0-min_devices": "4",
    "rules-1-name": "rest",
    "rules-1-effect": "auto",
}


@pytest.fixture
def form(client, dora):
    """Return a function that posts the form as an administrator."""
    client.force_login(dora)

    def post(**more):
        return client.post("/policy/edit/", {**RULES, "seen": "0", **more})

    return post


def test_it_is_put_in_force_as_a_new_version(form):
    answer = form(action="store", note="Four is many.")

    assert answer.status_code == 302
    policy = policy_in_force()
    assert [(rule.name, rule.effect) for rule in policy.rules] == [
        ("many", Effect.APPROVE),
        ("rest", Effect.AUTO),
    ]
    row = PolicySet.objects.get()
    assert (row.note, row.created_by) == ("Four is many.", "dora@platform")


def test_of_two_that_edit_one_version_the_second_is_told(form):
    assert form(action="store").status_code == 302

    late = form(action="store", **{"rules-0-name": "typed-later"})

    assert late.status_code == 409
    assert 'value="typed-later"' in late.content.decode()
    assert PolicySet.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rules-0-min_devices", "four"),
        ("rules-0-effect", "perhaps"),
        ("rules-0-group", "no-such-team"),
        ("rules-0-approvals", "-1"),
        ("rules-0-days", "mon, someday"),
        ("rules-0-name", ""),
    ],
)
def test_what_cannot_be_is_said_and_kept(form, field, value):
    answer = form(action="store", **{field: value, "note": "kept note"})

    html = answer.content.decode()
    assert answer.status_code == 422
    assert "kept note" in html
    if value and field != "rules-0-effect":
        assert f'value="{value}"' in html
    assert not PolicySet.objects.exists()


def test_buttons_add_move_and_remove_rules_without_storing(form):
    def names(action):
        rows = form(action=action).context["rows"]
        return [row.values["name"] for row in rows]

    assert names("add") == ["many", "rest", ""]
    assert names("down:0") == ["rest", "many"]
    assert names("up:0") == ["many", "rest"]
    assert names("remove:0") == ["rest"]
    assert names("remove:7") == ["many", "rest"]
    assert names("nonsense") == ["many", "rest"]
    assert not PolicySet.objects.exists()


def test_trying_says_who_would_have_to_approve_an_example(form, ben):
    def said(devices):
        answer = form(action="try", **{"example-devices": devices})
        assert answer.status_code == 200
        return " ".join(answer.context["tried"].sentences)

    assert "ben@platform" in said("4")
    assert "ben@platform" not in said("3")
    assert not PolicySet.objects.exists()


def test_json_fills_the_form_or_says_why_not(form):
    good = [{"name": "all", "effect": "deny"}]
    filled = form(action="take", json=json.dumps(good))
    broken = form(action="take", json="[{")

    assert [row.values["name"] for row in filled.context["rows"]] == ["all"]
    assert broken.status_code == 422
    assert "[{" in broken.content.decode()
    assert [row.values["name"] for row in broken.context["rows"]] == ["many", "rest"]
