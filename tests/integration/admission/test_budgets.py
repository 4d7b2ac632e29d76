# ruff: noqa: F811  fixtures by name
"""Budgets of tenants, held at the API server for claims that the portal did not make."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from portal.admission.models import AdmissionDecision, AdmittedClaim
from portal.admission.services import budgeting
from portal.admission.services.approved import REMEMBERED, forget_ended
from portal.budgets.services.ledger import rows_of
from portal.core.errors import PortalError
from tests.integration.admission.reviews import (
    ADA,
    CONTROLLER,
    claim,
    portal,
    review,
    stored,
)
from tests.integration.budgets import conftest as budgets
from tests.integration.budgets.conftest import (  # noqa: F401  fixtures
    GPU_CLASS,
    admin,
    budget,
    cluster,
    gpus,
    kubeconfigs,
)

pytestmark = pytest.mark.django_db
SPACE = "ai-training"
submitted = budgets.ask


@pytest.fixture
def wish(gpus, ask):
    """Return a function that asks the webhook about a claim for cards of 80 GiB."""

    def do(name="wish", namespace=SPACE, user=ADA, dry_run=False, extra=None, **asked):
        labels = asked.pop("labels", None)
        body = claim(namespace, name, labels=labels, deviceClassName=GPU_CLASS, **asked)
        return ask(body, user, dry_run=dry_run, extra=extra)

    return do


def test_what_is_within_is_admitted_and_what_is_over_gets_the_figures(wish, budget):
    budget(vram_hard=160)

    assert wish("a")["allowed"] is True
    assert wish("b")["allowed"] is True
    denied = wish("c")

    assert denied["allowed"] is False
    text = denied["status"]["message"]
    assert text.startswith("[tenant-budgets] The budget orchid has 160 GiB")
    assert "160 are taken; this claim takes up to 80 more" in text
    assert AdmissionDecision.objects.get().outcome == "deny"


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"cards_hard": 1}, "1 whole cards and 0 are taken"),
        ({"vram_hard": 100}, "100 GiB of GPU memory"),
        ({"hours_hard": 1}, "this claim has no end"),
    ],
)
def test_each_measure_is_held(wish, budget, limits, says):
    budget(**limits)
    assert says in wish(count=2)["status"]["message"]


def test_over_a_soft_limit_is_a_warning(wish, budget):
    budget(cards_soft=1, cards_hard=8)
    assert "warnings" not in wish("a")
    answer = wish("b")
    assert answer["allowed"] is True
    assert (
        "over the soft limit of the budget orchid, 1 whole cards"
        in (answer["warnings"][0])
    )


def test_nobody_elses_namespace_counts(wish, budget):
    budget(cards_hard=1)
    assert wish("a")["allowed"] is True
    assert wish("a", namespace="maple-lab", count=4)["allowed"] is True
    assert wish("b")["allowed"] is False


def test_a_budget_of_one_namespace_leaves_the_others_alone(wish, budget):
    budget(where="demo", namespace="ai-serving", cards_hard=0)
    assert wish("a")["allowed"] is True
    assert wish("a", namespace="ai-serving")["allowed"] is False


def test_what_the_portal_booked_is_counted_once(wish, budget, submitted, afresh):
    budget(cards_hard=2)
    made = submitted(kind="Template")
    afresh()
    mark = str(made.public_id)
    labels = {
        "app.kubernetes.io/managed-by": "slicewise",
        "slicewise.io/request-id": mark,
    }

    # The first claim of the template is booked, the second takes what is left.
    assert wish("t-1", user=CONTROLLER, labels=labels)["allowed"] is True
    assert wish("t-2", user=CONTROLLER, labels=labels)["allowed"] is True
    assert wish("t-3", user=CONTROLLER, labels=labels)["allowed"] is False
    assert wish("other")["allowed"] is False


def test_what_carries_the_portals_mark_is_booked(wish, budget, submitted, afresh):
    budget(cards_hard=1)
    made = submitted(kind="Claim")
    afresh()
    assert wish("other")["allowed"] is False
    assert wish("mine", extra=portal(made.public_id))["allowed"] is True
    # A form that is being judged has booked nothing yet: the portal says no itself.
    dry = wish("next", extra=portal(uuid.uuid4()), dry_run=True)
    assert dry["allowed"] is True


def test_a_claim_that_waits_counts_for_webhook_and_portal(
    wish,
    budget,
    submitted,
    afresh,
    gpus,
):
    budget(cards_hard=2)
    body = claim(SPACE, "waits", deviceClassName=GPU_CLASS, count=2)
    row = stored(gpus, body)
    assert wish("a")["allowed"] is False
    with pytest.raises(PortalError, match="0 cards of the 2 cards"):
        submitted()
    row.deleted_at = timezone.now()
    row.save()
    afresh()
    assert wish("a")["allowed"] is True
    assert submitted().pk


def test_what_is_not_made_counts_nowhere(wish, budget, rule):
    budget(cards_hard=1)
    assert wish("dry", dry_run=True)["allowed"] is True
    rule("a-no", kind="forbidden", params={"classes": [GPU_CLASS]})
    rule("z-few", kind="limits", params={"devices": 4})
    assert "a-no" in wish("no")["status"]["message"]
    assert not AdmittedClaim.objects.exists()
    rule("a-no", kind="forbidden", mode="off", params={"classes": [GPU_CLASS]})
    assert wish("yes")["allowed"] is True
    assert AdmittedClaim.objects.get().name == "yes"
    # What one limit lets through and the next denies is taken back.
    rule("b-few", kind="limits", params={"devices": 9})
    assert wish("over")["allowed"] is False
    assert AdmittedClaim.objects.get().name == "yes"


def test_unknown_memory_passes_no_hard_limit(wish, budget):
    budget(vram_hard=1_000)
    nothing = {"cel": {"expression": 'device.driver == "nobody.example.com"'}}
    text = wish(selectors=[nothing])["status"]["message"]
    assert "is not known, and the budget orchid has 1000 GiB" in text


def test_a_rule_that_only_warns_admits_and_counts(wish, budget, rule):
    budget(cards_hard=1)
    rule("tenant-budgets", kind="budgets", mode="warn")
    assert "warnings" not in wish("a")
    for name in ("b", "c"):
        assert wish(name)["allowed"] is True
    assert "3 are taken" in wish("d")["warnings"][0]
    rule("tenant-budgets", kind="budgets", mode="off")
    assert "warnings" not in wish("e")


def test_without_the_engine_the_failure_policy_decides(
    wish,
    post,
    budget,
    monkeypatch,
):
    from portal.budgets.services.needing import UNKNOWN, Need

    budget(vram_hard=1_000)
    gone = Need(UNKNOWN, "The engine does not answer.")
    monkeypatch.setattr(budgeting, "need_lately", lambda *_: gone)
    body = claim(SPACE, "x", deviceClassName=GPU_CLASS)
    response = post("/admission/validate", review(body))
    assert response.status_code == 503
    assert "engine" in response.content.decode()


def test_a_review_costs_few_queries(
    wish,
    budget,
    django_assert_max_num_queries,
    rule,
):
    rule("diagnostics", mode="off", kind="diagnostics")
    wish("a", namespace="maple-lab")
    with django_assert_max_num_queries(0):
        assert wish("b", namespace="maple-lab")["allowed"] is True
    budget(cards_hard=8)
    budgeting.forget()
    wish("a")
    # A savepoint and its end, the lock, what is on its way, and the row that counts.
    with django_assert_max_num_queries(5):
        assert wish("b")["allowed"] is True


def test_what_waits_is_shown_as_counted_and_not_as_used(wish, budget, gpus):
    row = budget(cards_hard=4)
    body = claim(SPACE, "waits", deviceClassName=GPU_CLASS, count=2)
    stored(gpus, body)

    [shown] = rows_of([row], now=timezone.now())

    assert (shown.taken.used.cards, shown.taken.counted.cards) == (0, 2)


def test_what_was_let_through_is_forgotten_once_it_is_over(wish, budget, gpus):
    budget(cards_hard=8)
    for name in ("there", "gone", "never"):
        wish(name)
    now = timezone.now()
    for name in ("there", "gone"):
        body = claim(SPACE, name)
        body["metadata"]["uid"] = AdmittedClaim.objects.get(name=name).uid
        row = stored(gpus, body)
        if name == "gone":
            row.deleted_at = now
            row.save()
    assert forget_ended(now=now) == 0
    assert forget_ended(now=now + REMEMBERED + timedelta(minutes=1)) == 2
    assert AdmittedClaim.objects.get().name == "there"
