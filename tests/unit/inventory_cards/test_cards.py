"""Every recorded fleet counts to the cards and memory worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.unit.inventory_cards.fleets import DATA, Fleet, documents

EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load(
    (DATA / "expected-cards.yaml").read_text()
)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_derive_cards_counts_fleet(name):
    expected = EXPECTED[name]
    fleet = Fleet(documents(DATA / "fleets" / name))

    cards = fleet.all()
    memory = sum(o.card.total or 0 for o in cards)
    at_least = any(o.card.total is None or o.card.at_least for o in cards) or any(
        pool.verdict == "incomplete" for pool in fleet.pools
    )

    assert len(cards) == expected["cards"]
    if "vramMi" in expected:
        assert memory == expected["vramMi"] * 1024**2
    assert at_least == expected.get("atLeast", False)
    if "unavailable" in expected:
        assert sum(not o.usable for o in cards) == expected["unavailable"]


def test_every_fleet_is_expected():
    assert {p.name for p in (DATA / "fleets").glob("*.yaml")} == set(EXPECTED)
