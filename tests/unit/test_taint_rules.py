"""Which devices a DeviceTaintRule selects."""

from __future__ import annotations

import pytest

from claims.domain.checks.objects import cluster_findings
from claims.domain.checks.world import build_world
from inventory.domain.shapes import fault_of
from inventory.domain.taints import parse_rule
from tests.unit.why_worlds import DRIVER, device, resource_slice

TAINT = {"key": "x.example/y", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"driver": None, "pool": None}, True),
        ({"driver": "gpu.amd.com", "pool": None}, True),
        ({"driver": "gpu.nvidia.com"}, False),
        ({"driver": "gpu.amd.com", "device": "gpu-1"}, False),
    ],
)
def test_a_rule_selects_what_it_names(selector, selected):
    rule = parse_rule("r", {"taint": TAINT, "deviceSelector": selector})

    assert rule is not None
    assert rule.selects("gpu.amd.com", "n1", "gpu-0") is selected


@pytest.mark.parametrize("selector", [None, {"driver": ""}, {"pool": ""}])
def test_a_rule_of_nothing_is_none(selector):
    assert parse_rule("r", {"taint": TAINT, "deviceSelector": selector}) is None


CEL = [{"cel": {"expression": "true"}}]


def rule_body(selector):
    return {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"taint": TAINT, "deviceSelector": selector},
    }


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        ({}, ["taint.selects_all"]),
        ({"driver": None, "selectors": []}, ["taint.selects_all"]),
        ({"driver": "g", "selectors": CEL}, []),
        ({"selectors": CEL}, []),
        ({"driver": ["g"]}, []),
    ],
)
def test_a_rule_that_selects_by_anything_does_not_select_all(selector, codes):
    world = build_world([rule_body(selector)], minor=34, gates=[])

    assert [each.finding.code for each in cluster_findings(world)] == codes


def test_a_selector_in_a_file_holds_texts():
    assert fault_of(rule_body({"driver": "g", "selectors": CEL})) is None
    assert fault_of(rule_body({"driver": ["g"]})) == (
        "spec.deviceSelector.driver",
        "text",
    )


@pytest.mark.parametrize(("minor", "codes"), [(34, ["taint.selects_all"]), (35, [])])
def test_a_rule_without_a_selector_is_for_all_in_1_34_alone(minor, codes):
    world = build_world([rule_body(None)], minor=minor, gates=[])

    assert [each.finding.code for each in cluster_findings(world)] == codes


BOTH = ("DRADeviceTaints", "DRADeviceTaintRules")


@pytest.mark.parametrize(
    ("minor", "gates", "selector", "counts"),
    [
        (34, BOTH[:1], {"driver": DRIVER}, True),
        (34, BOTH[:1], None, True),
        (34, BOTH[:1], {"driver": "other"}, False),
        (34, BOTH[:1], {"driver": DRIVER, "selectors": CEL}, False),
        (34, BOTH[:1], {"deviceClassName": "c"}, False),
        (34, BOTH[:1], {"driver": DRIVER, "selectors": None}, True),
        (34, (), {"driver": DRIVER}, False),
        (35, BOTH[:1], {"driver": DRIVER}, False),
        (35, BOTH, {"driver": DRIVER}, True),
        (35, BOTH, None, False),
    ],
)
def test_rules_keep_claims_off_where_the_scheduler_reads_them(
    minor, gates, selector, counts
):
    objects = [resource_slice("s", device("d")), rule_body(selector)]
    world = build_world(objects, minor=minor, gates=gates)

    assert bool(world.untolerated(f"{DRIVER}/p/d", [])) is counts
