"""Fixes that could not be tried: what was found is told without them."""

from __future__ import annotations

import pytest

from claims.services import checking, selector_facts
from claims.services.checking import Checker
from claims.services.filed import file_of
from inventory.gateways.engine import EngineDeadline, EngineUnavailable
from tests.integration.why.conftest import request, template

pytestmark = pytest.mark.django_db

FULL = "nvidia-h100-full-8gpu"
WRONG = 'device.attributes["nvidia.com"].productName == "x"'


@pytest.fixture
def found(load_fleets):
    """Return a function that checks a claim of a wrong selector: (code, has a fix)."""
    cluster = load_fleets(FULL)

    def check(*expressions):
        gpu = [
            request(f"r{i}", "gpu.nvidia.com", each)
            for i, each in enumerate(expressions)
        ]
        (item,) = file_of([template(*gpu)]).items
        checked = Checker(cluster).check(item, earlier=[], mine=[])
        return [
            (each.code, each.replacement is not None)
            for each in checked.findings
            if each.code.startswith("cel.")
        ]

    return check


@pytest.mark.parametrize("error", [EngineDeadline, EngineUnavailable])
def test_an_engine_that_is_late_in_a_try_loses_no_finding(found, monkeypatch, error):
    (told, has_fix), *rest = found(WRONG, WRONG)
    asked = []

    def late(*_args):
        asked.append(1)
        raise error("late")

    monkeypatch.setattr(checking, "proven", late)

    assert has_fix
    assert found(WRONG, WRONG) == [(told, False) for _ in (1, *rest)]
    assert len(asked) == 1


def test_nothing_is_tried_once_the_time_for_tries_is_over(found, monkeypatch):
    monkeypatch.setattr(checking, "TRIES_SECONDS", 0.0)

    assert [has_fix for _code, has_fix in found(WRONG, WRONG)] == [False, False]


def test_a_try_asks_for_no_list_of_devices(found, monkeypatch):
    wanted = []
    real = selector_facts._evaluated

    def evaluated(*args, listing):
        wanted.append(listing)
        return real(*args, listing=listing)

    monkeypatch.setattr(selector_facts, "_evaluated", evaluated)

    assert found(WRONG)[0][1]
    assert wanted[-1] is False
