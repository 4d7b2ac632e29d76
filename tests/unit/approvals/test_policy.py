"""Policy as data: which rule decides, why, and what no rule can do."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.approvals.domain.policy import (
    BUILT_IN,
    Asked,
    BadPolicy,
    Effect,
    Policy,
    Rule,
    judge,
)

MONDAY_9 = dt.datetime(2026, 11, 30, 9, tzinfo=dt.UTC)
ASKED = Asked(
    cluster="demo",
    namespace="ai-serving",
    tenant="orchid",
    device_classes=frozenset({"gpu.nvidia.com"}),
    devices=2,
    gib=32.0,
    hours=8.0,
    admin_access=False,
    at=MONDAY_9,
)


def decided_by(rule, **asked):
    """Return whether a rule, before the built-in ones, decides about a request."""
    return judge(Policy(1, (rule,)), replace(ASKED, **asked)).rule is rule


def deny(**conditions):
    return Rule(name="r", effect=Effect.DENY, **conditions)


@pytest.mark.parametrize(
    ("rule", "fits", "fits_not"),
    [
        (
            deny(device_classes=("mig.*", "gpu.*")),
            {},
            {"device_classes": frozenset({"nic"})},
        ),
        (deny(namespaces=("ai-*",)), {}, {"namespace": "web"}),
        (deny(tenants=("orchid",)), {}, {"tenant": "maple"}),
        (deny(clusters=("demo",)), {}, {"cluster": "prod"}),
        (deny(min_devices=2), {}, {"devices": 1}),
        (deny(min_gib=32), {}, {"gib": 31.9}),
        (deny(min_gib=9999), {"gib": None}, {"gib": 10.0}),
        (deny(min_hours=8), {}, {"hours": 7.9}),
        (deny(min_hours=9999), {"hours": None}, {}),
        (deny(days=("mon",)), {}, {"at": MONDAY_9 + dt.timedelta(days=1)}),
        (deny(from_hour=9, to_hour=18), {}, {"at": MONDAY_9.replace(hour=18)}),
        (deny(from_hour=22, to_hour=10), {}, {"at": MONDAY_9.replace(hour=12)}),
        (deny(admin_access=True), {"admin_access": True}, {}),
        (deny(admin_access=False), {}, {"admin_access": True}),
        (deny(), {"admin_access": True}, None),
    ],
)
def test_each_condition_holds_and_does_not(rule, fits, fits_not):
    assert decided_by(rule, **fits)
    if fits_not is not None:
        assert not decided_by(rule, **fits_not)


def test_all_conditions_must_hold_and_each_is_a_reason():
    rule = deny(min_devices=2, namespaces=("ai-*",))

    found = judge(Policy(1, (rule,)), ASKED)

    assert [reason.code for reason in found.reasons] == ["namespaces", "min_devices"]
    assert not decided_by(rule, devices=1)
    assert not decided_by(rule, namespace="web")


def test_the_first_rule_decides():
    rules = (deny(min_devices=9), Rule(name="b", effect=Effect.AUTO), deny())
    assert judge(Policy(1, rules), ASKED).rule.name == "b"


def test_built_in_policy_wants_two_for_admin_access_and_passes_the_rest():
    admin = judge(BUILT_IN, replace(ASKED, admin_access=True)).rule

    assert (admin.effect, admin.approvals, admin.max_hours) == (Effect.APPROVE, 2, 168)
    assert judge(BUILT_IN, ASKED).rule.effect == Effect.AUTO


RULES = st.builds(
    Rule,
    name=st.just("r"),
    effect=st.sampled_from(Effect),
    admin_access=st.sampled_from([None, True, False]),
    min_devices=st.integers(0, 4),
    min_gib=st.sampled_from([0, 16, 64]),
    namespaces=st.sampled_from([(), ("ai-*",), ("web",)]),
    approvals=st.integers(1, 3),
)


@given(st.lists(RULES, max_size=5))
def test_no_policy_lets_admin_access_pass_without_an_approval(rules):
    found = judge(Policy(1, tuple(rules)), replace(ASKED, admin_access=True)).rule
    assert found.effect in {Effect.APPROVE, Effect.DENY}
    assert found.approvals >= 1


@given(RULES)
def test_a_rule_survives_its_document(rule):
    assert Rule.from_document(rule.document()) == rule


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"effect": "deny"}, "no name"),
        ({"name": "r", "effect": "maybe"}, "effect"),
        ({"name": "r", "effect": "deny", "classes": ["x"]}, "classes"),
        ({"name": "r", "effect": "approve", "approvals": 0}, "approvals"),
        ({"name": "r", "effect": "approve", "approvals": True}, "whole number"),
        ({"name": "r", "effect": "approve", "role": "king"}, "role"),
        ({"name": "r", "effect": "deny", "namespaces": "ai"}, "list"),
        ({"name": "r", "effect": "deny", "days": ["someday"]}, "days"),
        ({"name": "r", "effect": "deny", "from_hour": 25}, "24"),
        ({"name": "r", "effect": "approve", "max_hours": 0}, "1 hour"),
        ({"name": "r", "effect": "deny", "admin_access": "yes"}, "true or false"),
    ],
)
def test_a_bad_rule_is_refused_in_words(document, word):
    with pytest.raises(BadPolicy, match=word):
        Rule.from_document(document)
