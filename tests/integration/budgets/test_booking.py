"""What a request asks is booked once, never beyond a hard limit, and given back."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services.ending import cancel
from claims.services.submit import SubmitRefused
from portal.budgets.models import Booking
from portal.budgets.queries.budgets import open_bookings
from portal.budgets.services.gating import OverBudget
from portal.budgets.services.ledger import rows_of
from portal.notices.models import Notice

GIB = 2**30


def test_a_request_books_what_it_can_take_at_most(ask, budget):
    budget(vram_hard=512)

    made = ask(count=2)

    amounts = made.booking.amounts
    assert (amounts.vram, amounts.cards, amounts.gpus) == (160 * GIB, 2, 2)
    assert (amounts.slices, amounts.vram_at_least) == (0, False)


def test_over_the_hard_limit_is_refused_with_the_figures(ask, budget):
    budget(vram_hard=512)
    ask(count=5)

    with pytest.raises(SubmitRefused) as refused:
        ask(count=2)

    assert refused.value.code == "budget.exceeded"
    assert (
        "This asks 160 GiB; 112 GiB of the 512 GiB of your team orchid remain."
        in refused.value.message
    )
    assert ClaimRequest.objects.count() == 1


def test_over_the_soft_limit_passes_and_is_told_once_a_day(ask, budget, ada, dora):
    budget(cards_soft=2, cards_hard=8)

    ask(count=2)
    assert Notice.objects.filter(event="budget.soft-limit").count() == 0
    ask()
    ask()

    notice = Notice.objects.get(event="budget.soft-limit")
    assert {each.person for each in notice.receipts.all()} == {ada, dora}
    assert notice.payload["taken"] == "3 cards"


def test_what_ends_gives_back_what_it_booked(ask, budget, ada):
    row = budget(cards_hard=2)
    made = ask(count=2)
    with pytest.raises(SubmitRefused):
        ask()

    cancel(made, user=ada, request_id="x", now=timezone.now())

    assert open_bookings(row.tenant) == []
    assert ask().state == State.SUBMITTED


@pytest.mark.parametrize(
    ("state", "uid", "counts"),
    [
        ("Submitted", "", True),
        ("PendingApproval", "", True),
        ("Approved", "", True),
        ("Applying", "", True),
        ("Active", "u", True),
        ("Releasing", "u", True),
        ("Expired", "u", True),
        ("Expired", "", False),
        ("Revoked", "u", True),
        ("ApplyFailed", "", False),
        ("Denied", "", False),
        ("Released", "u", False),
        ("Cancelled", "", False),
    ],
)
def test_a_booking_counts_as_long_as_its_request(ask, budget, state, uid, counts):
    row = budget(cards_hard=8)
    made = ask()
    ClaimRequest.objects.filter(pk=made.pk).update(state=state, object_uid=uid)

    [found] = rows_of([row], now=timezone.now())

    assert (found.taken.counted.cards == 1) is counts


def test_other_tenants_do_not_count(ask, budget, ada, cleo):
    budget(tenant="maple", cards_hard=0)

    assert ask(count=8).state == State.SUBMITTED


def test_a_namespace_has_a_budget_of_its_own(ask, budget):
    budget(where="demo", namespace="ai-training", cards_hard=0)
    assert ask().state == State.SUBMITTED

    budget(where="demo", namespace="ai-serving", cards_hard=1)

    with pytest.raises(SubmitRefused) as refused:
        ask()
    assert "the namespace ai-serving in demo" in refused.value.message


def test_memory_that_is_not_known_is_no_zero(ask, budget):
    budget(vram_hard=10_000)

    with pytest.raises(SubmitRefused) as refused:
        ask(selectors=[{"cel": {"expression": 'device.driver == "no.such"'}}])

    assert "is not known" in refused.value.message


def test_hours_are_those_until_the_end_of_the_month_at_most(ask, budget):
    now = timezone.now().replace(day=10, hour=0, minute=0)
    row = budget(hours_hard=100)

    with pytest.raises(SubmitRefused) as refused:
        ask(now=now)  # without end: three weeks

    assert "GPU-hours" in refused.value.message
    ask(now=now, count=2, ends_at=now + timedelta(hours=10))
    [found] = rows_of([row], now=now)
    assert found.taken.hours_ahead == pytest.approx(20)


@pytest.mark.django_db(transaction=True)
def test_fifty_at_once_never_overbook(ask, budget):
    row = budget(vram_hard=80 * 7 + 40)
    barrier, answers = threading.Barrier(50), []

    def go():
        try:
            barrier.wait()
            answers.append(ask().state)
        except (SubmitRefused, OverBudget) as error:
            answers.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=go) for _each in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [State.SUBMITTED] * 7 + ["budget.exceeded"] * 43
    assert Booking.objects.count() == ClaimRequest.objects.count() == 7
    assert sum(one.vram for one in open_bookings(row.tenant)) == 560 * GIB
