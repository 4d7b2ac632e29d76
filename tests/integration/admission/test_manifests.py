"""What is installed: printed by a command, kept in a file, and in step with it."""

from __future__ import annotations

import io

import pytest
from django.conf import settings
from django.core.management import call_command
from ruamel.yaml import YAML

from portal.admission.domain.guards import (
    FailurePolicy,
    GuardKind,
    GuardMode,
    GuardRule,
)
from portal.admission.domain.manifests import Address, manifests

pytestmark = pytest.mark.django_db
FILE = settings.BASE_DIR / "deploy" / "admission.yaml"


def printed(*arguments):
    out = io.StringIO()
    call_command("admission_manifests", *arguments, stdout=out)
    return out.getvalue()


def test_the_file_is_what_the_command_prints():
    assert printed().strip() == FILE.read_text().strip()


def test_each_webhook_states_what_it_must():
    objects = {each["kind"]: each for each in YAML(typ="safe").load_all(printed())}
    hooks = [
        hook
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
        for hook in objects[kind]["webhooks"]
    ]
    for hook in hooks:
        assert hook["timeoutSeconds"] == 2
        assert hook["sideEffects"] == "NoneOnDryRun"
        assert hook["matchPolicy"] == "Equivalent"
        assert hook["namespaceSelector"]["matchExpressions"]
        assert hook["matchConditions"]
    policies = {hook["name"]: hook["failurePolicy"] for hook in hooks}
    assert policies == {
        "guard-fail.slicewise.io": "Fail",
        "guard-ignore.slicewise.io": "Ignore",
        "fallback.slicewise.io": "Ignore",
    }


def test_rules_that_are_off_have_no_webhook():
    rule = GuardRule(
        "x", GuardKind.LIMITS, GuardMode.OFF, {"devices": 1}, FailurePolicy.FAIL
    )
    made = manifests([rule], Address())
    (validating,) = [m for m in made if m["kind"] == "ValidatingWebhookConfiguration"]
    assert validating["webhooks"] == []


def test_pods_are_judged_where_that_is_switched_on(rule):
    rule("few", kind="limits", params={"devices": 3})
    assert "- pods" not in printed()
    assert "- pods" in printed("--pods")
