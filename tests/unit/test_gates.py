from __future__ import annotations

import pytest

from inventory.domain.gates import (
    BadGates,
    BadVersion,
    enabled_gates,
    gates_in_metrics,
    minor_of,
    parse_gates,
    supported_minor,
)


@pytest.mark.parametrize(
    ("version", "minor"),
    [("1.37", 37), ("v1.34.4", 34), ("1.36.5-eks-1", 36), ("v1.35.1+k3s1", 35)],
)
def test_minor_of_reads_what_servers_say(version, minor):
    assert minor_of(version) == minor


@pytest.mark.parametrize("version", ["", "2.1", "1", "latest", "1.37.2.1 "])
def test_minor_of_refuses_others(version):
    with pytest.raises(BadVersion):
        minor_of(version)


def test_supported_minor_takes_the_nearest():
    assert supported_minor("1.40.0") == 37
    assert supported_minor("1.30.0") == 34
    assert supported_minor("") == 37


def test_enabled_gates_follow_the_version():
    assert "DRAConsumableCapacity" not in enabled_gates("1.35.4", {})
    assert "DRAConsumableCapacity" in enabled_gates("1.36.0", {})
    assert "DRADeviceTaintRules" in enabled_gates("1.37.2", {})
    assert "DRADeviceTaintRules" not in enabled_gates("1.36.5", {})


def test_enabled_gates_are_overridden():
    gates = enabled_gates(
        "1.34.4", {"DRAConsumableCapacity": True, "DRAAdminAccess": False}
    )

    assert "DRAConsumableCapacity" in gates
    assert "DRAAdminAccess" not in gates


def test_parse_gates_reads_a_list():
    assert parse_gates("A=true, B=FALSE,") == {"A": True, "B": False}


@pytest.mark.parametrize("text", ["A", "A=yes", "=true", "A B=true"])
def test_parse_gates_refuses_others(text):
    with pytest.raises(BadGates):
        parse_gates(text)


def test_gates_are_read_in_metrics():
    text = (
        "# TYPE kubernetes_feature_enabled gauge\n"
        'kubernetes_feature_enabled{name="DRAConsumableCapacity",stage="ALPHA"} 1\n'
        'kubernetes_feature_enabled{name="DRADeviceTaints",stage="ALPHA"} 0\n'
        'kubernetes_feature_enabled{name="DynamicResourceAllocation",stage=""} 1\n'
        'kubernetes_feature_enabled{name="StorageVersionHash",stage="BETA"} 1\n'
    )

    assert gates_in_metrics(text) == {
        "DRAConsumableCapacity": True,
        "DRADeviceTaints": False,
        "DynamicResourceAllocation": True,
    }
    assert gates_in_metrics("") == {}
