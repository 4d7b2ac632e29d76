from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.domain.parse import parse_allocations, parse_pool


def slice_of(
    name="s", *, generation=1, count=1, devices=(), counters=None, node="n", pool="p"
):
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": node,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": list(devices),
    }
    if counters:
        spec["sharedCounters"] = [{"name": counters}]
    return {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def test_parse_pool_counts_the_newest_generation_alone():
    pool, devices = parse_pool(
        [
            slice_of("a", generation=1, devices=[{"name": "old"}]),
            slice_of("b", generation=2, count=2, devices=[{"name": "new"}]),
        ],
        combined_allowed=False,
    )

    assert (pool.generation, pool.seen_slice_count, pool.expected_slice_count) == (
        2,
        1,
        2,
    )
    assert (pool.verdict, pool.problem) == ("incomplete", "pool.incomplete: 1/2")
    assert [device.name for device in devices] == ["new"]


def test_parse_pool_with_more_slices_than_said_is_incomplete():
    pool, _ = parse_pool([slice_of("a"), slice_of("b")], combined_allowed=False)

    assert pool.verdict == "incomplete"


def test_parse_pool_with_a_name_twice_is_invalid():
    pool, devices = parse_pool(
        [
            slice_of("a", count=2, devices=[{"name": "gpu-0"}]),
            slice_of("b", count=2, devices=[{"name": "gpu-0"}]),
        ],
        combined_allowed=False,
    )

    assert (pool.verdict, pool.problem) == ("invalid", "pool.duplicate_device: gpu-0")
    assert len(devices) == 2


def test_parse_pool_with_an_unknown_counter_set_is_invalid():
    device = {
        "name": "gpu-0",
        "consumesCounters": [{"counterSet": "nope", "counters": {}}],
    }

    pool, _ = parse_pool(
        [slice_of(devices=[device], counters=None)], combined_allowed=False
    )

    assert pool.problem == "pool.invalid_counterset: nope"


def counters_of(name, *counters, in_slice="c", count=2):
    """Return a slice of one counter set."""
    body = slice_of(in_slice, count=count)
    body["spec"]["sharedCounters"] = [
        {"name": name, "counters": {key: {"value": "1"} for key in counters}}
    ]
    return body


def consumer(counter_set, *counters):
    consumed = {"counterSet": counter_set, "counters": {key: {} for key in counters}}
    return {"name": "gpu-0", "consumesCounters": [consumed]}


@pytest.mark.parametrize("combined_allowed", [True, False])
def test_parse_pool_with_a_counter_that_the_set_has_not_is_invalid(combined_allowed):
    slices = [
        counters_of("shared", "memory"),
        slice_of("d", count=2, devices=[consumer("shared", "memory", "zz")]),
    ]

    pool, _ = parse_pool(slices, combined_allowed=combined_allowed)

    assert (pool.verdict, pool.problem) == (
        "invalid",
        "pool.invalid_counterset: shared/zz",
    )


def test_parse_pool_with_a_counter_set_in_two_slices_is_invalid_from_1_35_on():
    slices = [
        counters_of("shared", "memory", count=3),
        counters_of("shared", "memory", in_slice="c2", count=3),
        slice_of("d", count=3, devices=[consumer("shared", "memory")]),
    ]

    assert parse_pool(slices, combined_allowed=False)[0].problem == (
        "pool.invalid_counterset: shared, shared"
    )
    # There each slice has sets of its own.
    assert parse_pool(slices, combined_allowed=True)[0].verdict == "complete"


def test_parse_pool_with_the_counters_of_two_sets_is_complete():
    slices = [
        counters_of("one", "memory", count=3),
        counters_of("two", "memory", "engines", in_slice="c2", count=3),
        slice_of("d", count=3, devices=[consumer("two", "memory"), {"name": "gpu-1"}]),
    ]

    assert parse_pool(slices, combined_allowed=False)[0].problem == ""


def test_parse_pool_leaves_counters_open_while_slices_are_missing():
    slices = [
        counters_of("shared", "memory", count=3),
        slice_of("d", count=3, devices=[consumer("shared", "zz")]),
    ]

    assert parse_pool(slices, combined_allowed=False)[0].problem == (
        "pool.incomplete: 2/3"
    )


def test_parse_pool_takes_a_combined_slice_on_1_34_only():
    combined = slice_of(devices=[{"name": "gpu-0"}], counters="set")

    assert parse_pool([combined], combined_allowed=True)[0].verdict == "complete"
    assert (
        parse_pool([combined], combined_allowed=False)[0].problem
        == "pool.combined_slice: s"
    )


def test_parse_pool_qualifies_keys_and_reads_memory():
    device = {
        "name": "gpu-0",
        "attributes": {
            "type": {"string": "gpu"},
            "resource.kubernetes.io/pcieRoot": {"string": "p"},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
        "allowMultipleAllocations": True,
    }

    _, (parsed,) = parse_pool([slice_of(devices=[device])], combined_allowed=False)

    assert parsed.attributes == {
        "gpu.nvidia.com/type": {"string": "gpu"},
        "resource.kubernetes.io/pcieRoot": {"string": "p"},
    }
    assert parsed.memory_bytes == 81559 * 2**20
    assert parsed.allow_multiple_allocations


def test_parse_pool_memory_of_zero_or_none_is_unknown():
    zero = {"name": "a", "capacity": {"memory": {"value": "0"}}}

    _, devices = parse_pool(
        [slice_of(devices=[zero, {"name": "b"}])], combined_allowed=False
    )

    assert [device.memory_bytes for device in devices] == [None, None]


def test_parse_allocations_keeps_shares_apart():
    claim = {
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "request": "r/a",
                            "driver": "d",
                            "pool": "p",
                            "device": "x",
                            "shareID": "1",
                            "consumedCapacity": {"memory": "16Gi"},
                        },
                        {
                            "request": "r",
                            "driver": "d",
                            "pool": "p",
                            "device": "y",
                            "adminAccess": True,
                        },
                    ]
                }
            }
        }
    }

    share, monitor = parse_allocations(claim)

    assert (share.share_id, share.consumed_capacity) == ("1", {"memory": "16Gi"})
    assert monitor.admin_access


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "pool",
                    "name",
                    "devices",
                    "capacity",
                    "memory",
                    "value",
                    "metadata",
                    "generation",
                    "sharedCounters",
                    "status",
                    "allocation",
                    "results",
                    "taints",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["spec", "metadata", "status"]), json))
def test_parse_takes_any_json_without_an_error(body):
    parse_pool([body], combined_allowed=False)
    parse_allocations(body)
