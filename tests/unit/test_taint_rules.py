"""Which devices a DeviceTaintRule selects."""

from __future__ import annotations

import pytest

from inventory.domain.taints import parse_rule

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
