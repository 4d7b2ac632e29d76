"""Each cause, found where it is and counted once."""

from __future__ import annotations

from claims.domain.why.reasons import Cause
from tests.unit.why_worlds import (
    asked,
    device,
    device_class,
    exact,
    ground,
    held,
    losses,
    node,
    reason,
    resource_slice,
)

D = "gpu.nvidia.com/p/"
MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("90Gi")) >= 0'


def of(*devices, objects=(), **spec):
    return ground(device_class(), resource_slice("s", *devices, **spec), *objects)


def counted(name, *counters, size=1, **more):
    used = {key: {"value": str(size)} for key in counters}
    consumes = [{"counterSet": "card", "counters": used}]
    return device(name, consumesCounters=consumes, **more)


def with_counters(*devices, objects=()):
    values = {f"memory-slice-{n}": {"value": "1"} for n in range(8)}
    shared = resource_slice(
        "c", count=2, sharedCounters=[{"name": "card", "counters": values}]
    )
    del shared["spec"]["devices"]
    return ground(
        device_class(), shared, resource_slice("s", *devices, count=2), *objects
    )


def test_enough_is_no_reason():
    found = reason(of(device("a"), device("b")), asked(exact(count=2)))

    assert (found.left, found.first, found.is_enough) == (2, None, True)


def test_selectors_are_told_apart_and_the_nearest_is_named():
    known = of(device("a"), device("b", memory="81559Mi"), device("c"))

    found = reason(
        known,
        asked(exact()),
        ("type", "true", [D + "a", D + "b"]),
        ("memory", MEMORY, []),
    )

    assert losses(found) == [("selector", "1", 1), ("selector", "2", 2)]
    assert found.first.detail == "2"
    near = [(each.value, each.count) for each in found.nearest]
    assert near == [("80Gi", 1), ("79.6Gi", 1)]


def test_no_device_of_the_class():
    known = of(device("a"))
    claim = asked(exact())
    from claims.domain.why.reasons import AskSets, Scale

    found = Scale(claim.asks[0], claim, AskSets(), known).reason("n")

    assert (found.reachable, found.of_class, found.first.cause) == (1, 0, Cause.CLASS)


def test_a_class_that_is_not_there():
    known = ground(resource_slice("s", device("a")))

    assert not reason(known, asked(exact())).known_class


def test_a_node_that_reaches_nothing():
    known = ground(device_class(), node("m"), resource_slice("s", device("a")))

    assert reason(known, asked(exact()), on="m").reachable == 0


def test_a_held_device_names_its_holder():
    found = reason(
        of(device("a"), objects=[held("train", "a", namespace="orchid")]),
        asked(exact()),
    )

    assert losses(found) == [("held", "", 1)]
    assert found.losses[0].holders == ("orchid/train",)


def test_admin_access_is_not_kept_out_by_holders():
    known = of(device("a"), objects=[held("train", "a")])

    assert reason(known, asked(exact(adminAccess=True))).is_enough


def test_what_an_admin_holds_is_free():
    known = of(device("a"), objects=[held("monitor", "a", adminAccess=True)])

    assert reason(known, asked(exact())).is_enough


def test_a_taint_counts_unless_tolerated_or_only_for_display():
    taint = {"key": "xid", "value": "79", "effect": "NoSchedule"}
    shown = {"key": "xid", "effect": "None"}
    known = of(device("a", taints=[taint]), device("b", taints=[shown]))
    tolerated = asked(
        exact(count=2, tolerations=[{"key": "xid", "operator": "Exists"}])
    )

    assert losses(reason(known, asked(exact(count=2)))) == [
        ("taint", "xid=79:NoSchedule", 1)
    ]
    assert reason(known, tolerated).is_enough


def test_a_pool_that_is_incomplete_or_invalid():
    incomplete = of(device("a"), count=2)
    twice = of(device("a"), device("a"))

    assert losses(reason(incomplete, asked(exact()))) == [("pool", "incomplete", 1)]
    assert losses(reason(twice, asked(exact()))) == [
        ("pool", "pool.duplicate_device", 1)
    ]


def test_kubernetes_1_34_allocates_from_incomplete_pools():
    known = ground(device_class(), resource_slice("s", device("a"), count=2), minor=34)

    assert reason(known, asked(exact())).is_enough


def test_counters_name_placement_and_holder():
    known = with_counters(
        counted("big", "memory-slice-0", "memory-slice-1"),
        counted("small-0", "memory-slice-0"),
        counted("small-1", "memory-slice-1"),
        objects=[held("train", "small-0")],
    )

    found = reason(known, asked(exact()), ("profile", "x", [D + "big"]))

    assert losses(found) == [("selector", "1", 2), ("counters", "", 1)]
    assert found.losses[1].blocked == (("big", ("t/train",)),)


def test_a_shared_device_has_its_counters_already():
    share = held("one", "big", shareID="1", consumedCapacity={"memory": "10Gi"})
    both = counted("big", "memory-slice-0", allowMultipleAllocations=True)
    known = with_counters(both, objects=[share])
    claim = asked(exact(capacity={"requests": {"memory": "70Gi"}}))

    assert reason(known, claim).is_enough


def test_a_monitor_finds_no_counters_on_a_card_that_is_used_up():
    known = with_counters(
        counted("big", "memory-slice-0", "memory-slice-1"),
        counted("small-0", "memory-slice-0"),
        counted("small-1", "memory-slice-1"),
        objects=[held("one", "small-0"), held("other", "small-1")],
    )

    found = reason(known, asked(exact(adminAccess=True)))

    assert losses(found) == [("counters", "", 3)]


def test_capacity_counts_shares_and_policies():
    share = held("one", "a", shareID="1", consumedCapacity={"memory": "70Gi"})
    known = of(device("a", allowMultipleAllocations=True), objects=[share])
    more = asked(exact(capacity={"requests": {"memory": "16Gi"}}))
    less = asked(exact(capacity={"requests": {"memory": "10Gi"}}))

    found = reason(known, more)
    assert losses(found) == [("capacity", "memory", 1)]
    assert (found.losses[0].more, found.losses[0].holders) == ("10Gi", ("t/one",))
    assert reason(known, less).is_enough
    assert losses(reason(known, asked(exact()))) == [("capacity", "memory", 1)]


def test_a_capacity_that_is_not_published():
    claim = asked(exact(capacity={"requests": {"gpu.nvidia.com/memory": "1Gi"}}))

    found = reason(of(device("a")), claim)

    assert losses(found) == [("capacity", "gpu.nvidia.com/memory", 1)]
    assert found.losses[0].more == ""


def test_an_unshared_device_need_only_be_large_enough():
    known = of(device("a"))

    assert reason(
        known, asked(exact(capacity={"requests": {"memory": "80Gi"}}))
    ).is_enough
    assert not reason(
        known, asked(exact(capacity={"requests": {"memory": "81Gi"}}))
    ).is_enough


def test_a_constraint_needs_its_attribute():
    claim = asked(exact(), constraints=[{"matchAttribute": "x.example/numa"}])

    assert losses(reason(of(device("a")), claim)) == [
        ("constraint", "x.example/numa", 1)
    ]


def test_all_fails_by_one_that_is_in_use():
    known = of(device("a"), device("b"), objects=[held("train", "a")])

    found = reason(known, asked(exact(allocationMode="All")))

    assert (found.left, found.first.cause) == (1, Cause.HELD)


def test_the_first_cause_is_the_greatest_of_what_keeps_matches_out():
    taint = {"key": "xid", "effect": "NoSchedule"}
    known = of(
        *(device(f"h{n}") for n in range(3)),
        device("t", taints=[taint]),
        device("free"),
        objects=[held(f"c{n}", f"h{n}") for n in range(3)],
    )

    found = reason(known, asked(exact(count=2)))

    assert losses(found) == [("held", "", 3), ("taint", "xid:NoSchedule", 1)]
    assert found.first.cause == Cause.HELD
    assert reason(known, asked(exact(count=1))).first is None


def test_without_the_gates_taints_shares_and_counters_do_not_count():
    taint = {"key": "xid", "effect": "NoSchedule"}
    known = ground(
        device_class(), resource_slice("s", device("a", taints=[taint])), gates=()
    )

    assert reason(known, asked(exact())).is_enough


def test_reasons_of_two_nodes_that_say_the_same_keep_both_holders():
    known = ground(
        device_class(),
        resource_slice("s", device("a"), nodeName="n", pool="p"),
        resource_slice("t", device("a"), nodeName="m", pool="q"),
        held("one", "a", pool="p"),
        held("two", "a", pool="q"),
    )
    claim = asked(exact())
    one, two = reason(known, claim, on="n"), reason(known, claim, on="m")

    assert one.key == two.key
    assert one.merged(two).losses[0].holders == ("t/one", "t/two")
