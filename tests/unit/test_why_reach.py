from __future__ import annotations

import pytest

from claims.domain.checks.world import build_world
from claims.domain.why.reach import reached
from tests.unit.why_worlds import device, node, resource_slice


def reach(*slices):
    nodes = [node("a", zone="1", size="8"), node("b", zone="2", size="16"), node("c")]
    return reached(build_world([*nodes, *slices], minor=37, gates=()))


def selector(**rule):
    return {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}


def test_a_slice_belongs_to_its_node():
    assert reach(resource_slice("s", device("d"), nodeName="a")) == {
        "a": ("gpu.nvidia.com/p/d",)
    }


def test_a_node_counts_without_a_node_object():
    assert set(reach(resource_slice("s", device("d"), nodeName="x"))) == {"x"}


def test_all_nodes_reach_it():
    assert set(reach(resource_slice("s", device("d"), allNodes=True))) == {
        "a",
        "b",
        "c",
    }


@pytest.mark.parametrize(
    ("rule", "nodes"),
    [
        ({"key": "zone", "operator": "In", "values": ["1", "9"]}, {"a"}),
        ({"key": "zone", "operator": "NotIn", "values": ["1"]}, {"b", "c"}),
        ({"key": "zone", "operator": "Exists"}, {"a", "b"}),
        ({"key": "zone", "operator": "DoesNotExist"}, {"c"}),
        ({"key": "size", "operator": "Gt", "values": ["8"]}, {"b"}),
        ({"key": "size", "operator": "Lt", "values": ["16"]}, {"a"}),
        ({"key": "size", "operator": "Gt", "values": ["many"]}, set()),
        ({"key": "size", "operator": "Sometimes"}, set()),
    ],
)
def test_a_selector_reaches_by_labels(rule, nodes):
    found = reach(resource_slice("s", device("d"), nodeSelector=selector(**rule)))

    assert set(found) == nodes


def test_a_selector_reaches_by_name_and_an_empty_term_reaches_nothing():
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{}, {"matchFields": [field]}]}

    assert set(reach(resource_slice("s", device("d"), nodeSelector=terms))) == {"b"}


def test_each_device_may_name_its_own_nodes():
    found = reach(
        resource_slice(
            "s",
            device("d", nodeName="a"),
            device("e", allNodes=True),
            perDeviceNodeSelection=True,
        )
    )

    assert found["a"] == ("gpu.nvidia.com/p/d", "gpu.nvidia.com/p/e")
    assert found["b"] == ("gpu.nvidia.com/p/e",)


def test_older_generations_are_not_reached():
    old = resource_slice("old", device("d"), nodeName="a", generation=1)
    new = resource_slice("new", device("e"), nodeName="a", generation=2)

    assert reach(old, new) == {"a": ("gpu.nvidia.com/p/e",)}
    assert reach(new, old) == {"a": ("gpu.nvidia.com/p/e",)}
