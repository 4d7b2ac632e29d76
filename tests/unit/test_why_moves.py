"""Candidates for a move, from occupancy alone."""

from __future__ import annotations

from dataclasses import replace

from claims.domain.why.moves import (
    MOST_WORKED_OUT,
    by_kind,
    candidates_among,
    places_for,
)
from tests.unit.inventory_cards.test_occupancy import MIB, held

MIG = "nvidia-h100-dynamic-mig-k8s135.yaml"
WHOLE = {"device": "gpu-1-mig-7g80gb-0-0", "claim": "whole"}


def small(place, claim, **more):
    return {"device": f"gpu-0-mig-1g10gb-19-{place}", "claim": claim, **more}


def found(*holds):
    return candidates_among(held(MIG, *holds)).candidates


def test_each_claim_that_alone_blocks_a_larger_piece():
    # Whether the large one has another place is for the engine to say.
    seen = [
        (each.claim[1], each.pieces[0].name, each.moved)
        for each in found(small(0, "low"), small(4, "high"), WHOLE)
    ]

    assert seen == [
        ("whole", "whole", 81152 * MIB),
        ("high", "3g.40gb", 9984 * MIB),
        ("low", "3g.40gb", 9984 * MIB),
    ]


def test_what_two_claims_block_together_is_no_single_move():
    claims = {
        each.claim[1]
        for each in found(
            small(0, "a"), small(1, "b"), small(4, "c"), small(5, "d"), WHOLE
        )
    }

    assert claims == {"whole"}


def test_a_monitor_blocks_nothing():
    monitor = small(4, "monitor", admin=True)

    claims = [each.claim[1] for each in found(small(0, "low"), monitor, WHOLE)]

    assert "monitor" not in claims


def test_what_a_claim_holds_elsewhere_counts_as_moved():
    more = {"device": "gpu-1-mig-1g10gb-19-0", "claim": "wide"}

    seen = {
        each.claim[1]: each.moved
        for each in found(small(0, "low"), small(4, "wide"), more, small(6, "x"))
    }

    assert seen.get("wide", 0) == 2 * 9984 * MIB


def test_cards_that_are_cut_up_otherwise_are_another_kind():
    shares = held("nvidia-h100-consumable-shares.yaml")
    mig = held(MIG, small(0, "low"), small(4, "high"), WHOLE)

    assert len({product for product, _kind in by_kind([*shares, *mig])}) == 1
    assert candidates_among([*shares, *mig]).candidates


def test_room_elsewhere_the_tightest_first():
    crowded = held(MIG, small(0, "low"), small(4, "high"), WHOLE)
    (first, *_rest) = candidates_among(crowded).candidates[1:]

    def elsewhere(node, largest):
        card = replace(crowded[0].card, node=node)
        return replace(crowded[0], card=card, largest=largest)

    others = [
        elsewhere("roomy", 81152 * MIB),
        elsewhere("tight", 9984 * MIB),
        elsewhere("full", 0),
        elsewhere("unknown", None),
    ]

    assert places_for(first, [*crowded, *others]) == ["unknown", "tight", "roomy"]


def test_of_too_many_the_rest_is_counted():
    (card, _other) = held(MIG, small(0, "low"), small(4, "high"), WHOLE)
    many = [
        replace(card, card=replace(card.card, node=f"n{n}", pool=f"n{n}"))
        for n in range(MOST_WORKED_OUT)
    ]

    both = candidates_among(many)

    assert len(both.candidates) + both.more == 2 * MOST_WORKED_OUT
    assert both.candidates
