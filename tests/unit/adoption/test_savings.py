"""Stranded memory, and node pools that labels multiply."""

from __future__ import annotations

import pytest

from inventory.domain.quantity import GIB
from portal.adoption.domain.savings import (
    PodUse,
    need_of,
    node_labels_of,
    pool_count,
    pools_of,
    savings_of,
    total_of,
)


def use(name, need, *, cards=1, memory=80 * GIB, product="H100"):
    return PodUse("ai", name, product, cards, memory, need)


def test_efficiency_and_stranded_of_eight_cards_with_twelve_gib_each():
    [found] = savings_of(use(f"p{i}", 12 * GIB) for i in range(8))
    assert (found.needed, found.held) == (96 * GIB, 640 * GIB)
    assert found.efficiency == pytest.approx(0.15)
    assert found.stranded == 544 * GIB
    assert (found.whole_cards, found.at_least) == (2, False)


def test_unknown_is_never_taken_for_nothing():
    [found] = savings_of([use("told", 40 * GIB), use("silent", None, cards=2)])
    assert (found.pods, found.cards, found.unknown_pods) == (2, 3, 1)
    assert (found.held, found.needed) == (80 * GIB, 40 * GIB)
    assert found.at_least


def test_nothing_known_gives_no_number():
    [found] = savings_of([use("silent", None), use("dark", GIB, memory=None)])
    assert found.efficiency is found.stranded is found.whole_cards is None


def test_products_with_most_stranded_come_first():
    rows = [use("a", 70 * GIB), use("b", GIB, memory=16 * GIB, product="T4")]
    assert [each.product for each in savings_of(rows)] == ["T4", "H100"]


def test_more_than_a_card_counts_as_the_card():
    [found] = savings_of([use("a", 100 * GIB)])
    assert found.stranded == 0


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("8Gi", 8 * GIB), ("", None), ("much", None), ("-1Gi", None), ("0", None)],
)
def test_annotation(text, bytes_):
    assert need_of({"slicewise.dev/needs-memory": text}) == bytes_
    assert need_of({}) is None


def test_five_axes_of_three_are_243_pools():
    assert pool_count({f"axis-{i}": "abc" for i in range(5)}) == 243


def test_pools_collapse_to_hardware():
    product, layout = "nvidia.com/gpu.product", "nvidia.com/mig.config"
    nodes = [
        {product: product_name, layout: config}
        for product_name in ("H100", "L40S")
        for config in ("all-disabled", "all-1g.10gb", "all-3g.40gb")
    ]
    found = pools_of(
        nodes, [{product: "H100"}, {product: "H100"}, {}], [product, layout]
    )
    assert (found.possible, found.present, found.hardware) == (6, 6, 2)
    assert (found.selected, found.collapse) == (1, 4)


def test_total_adds_up_what_is_known():
    rows = [
        use("a", 40 * GIB),
        use("b", 4 * GIB, memory=16 * GIB, product="T4"),
        use("c", None, cards=5),
    ]
    found = total_of(savings_of(rows))
    assert (found.pods, found.cards, found.known_cards) == (3, 7, 2)
    assert (found.held, found.needed) == (96 * GIB, 44 * GIB)
    assert (found.stranded, found.whole_cards) == (52 * GIB, 2)
    assert total_of([]).efficiency is None


def test_selectors_are_read_from_affinity_too():
    required = {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["2", "1"]},
                    {"key": "b", "operator": "Exists"},
                ]
            }
        ]
    }
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    spec = {"nodeSelector": {"c": "3"}, "affinity": affinity}
    assert node_labels_of(spec) == {"a": "1|2", "c": "3"}
    required["nodeSelectorTerms"].append({})
    assert node_labels_of(spec) == {"c": "3"}


def test_no_nodes_make_no_pools():
    found = pools_of([], [], ["nvidia.com/gpu.product"])
    assert (found.possible, found.present, found.hardware) == (0, 0, 0)
