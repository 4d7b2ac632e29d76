"""CEL: places of errors, limits, what is read, and devices that look alike."""

from __future__ import annotations

import random

import pytest

from inventory.domain.engine import Read, Tally
from inventory.gateways.engine import EngineRefused
from tests.engine.problems import GPU, device, node, resource_slice, row

D = f'device.attributes["{GPU}"]'


def test_an_error_has_its_line_and_column_in_code_points(engine):
    expression = '"é🙂" == "é🙂" && foo == 1\n  && bar'
    verdict = engine.check([expression])[0].scheduler
    assert (verdict.line, verdict.column) == (1, expression.index("foo") + 1)
    assert verdict.error == (
        "undeclared reference to 'foo' (in container '')\n"
        "2:6: undeclared reference to 'bar' (in container '')"
    )


def test_an_error_without_a_place_has_none(engine):
    verdict = engine.check(["1"])[0].apiserver
    assert (verdict.ok, verdict.reason) == (False, "compile")
    assert (verdict.line, verdict.column) == (None, None)
    assert verdict.error == "must evaluate to bool or the unknown type, not int"


def test_cost_is_judged_by_the_api_server_alone(engine):
    checked = engine.check(["type(device.driver) == string"])[0]
    assert not checked.apiserver.ok
    assert checked.apiserver.reason == "cost"
    assert checked.cost > checked.limit == 1_000_000
    assert checked.scheduler.ok


@pytest.mark.parametrize(("extra", "ok"), [(0, True), (1, False)])
def test_length_is_counted_in_bytes(engine, extra, ok):
    start = 'device.driver == "é'
    padding = 10_240 - len(start.encode()) - 1 + extra
    checked = engine.check([start + "x" * padding + '"'])[0]
    assert checked.length == 10_240 + extra
    assert checked.apiserver.ok is ok
    assert checked.apiserver.reason == (None if ok else "length")
    assert checked.scheduler.ok


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ('device.driver == "x" && device.allowMultipleAllocations', []),
        (f"{D}.a == 1", [("attributes", GPU, "a")]),
        (f'{D}["a"] == 1', [("attributes", GPU, "a")]),
        (f"has({D}.a)", [("attributes", GPU, "a")]),
        (f"{D}.?a.orValue(1) == 1", [("attributes", GPU, "a")]),
        (f'{D}[?"a"].orValue(1) == 1', [("attributes", GPU, "a")]),
        (f'"a" in {D}', [("attributes", GPU, "a")]),
        ('"x.com" in device.attributes', [("attributes", "x.com", "*")]),
        (f"cel.bind(g, {D}, g.a == 1 && g.b)", [("attributes", GPU, k) for k in "ab"]),
        (f"{D}.exists(k, k == 'a')", [("attributes", GPU, "*")]),
        (f"[{D}].exists(m, m.a == 1)", [("attributes", GPU, "*")]),
        ("device.attributes.exists(d, true)", [("attributes", "*", "*")]),
        ("[1].exists(device, device == 1)", []),
        (
            "cel.bind(d, device, d.capacity['c'].k.isInteger())",
            [("capacity", "c", "k")],
        ),
        (
            "[device].exists(d, d.driver == 'x')",
            [("attributes", "*", "*"), ("capacity", "*", "*")],
        ),
        (f"{D}[device.driver] == 1", [("attributes", GPU, "*")]),
        (f"(true ? {D} : device.attributes['o']).a", [
            ("attributes", GPU, "*"), ("attributes", "o", "*"),
        ]),
        ("foo ||", []),
    ],
)  # fmt: skip
def test_what_an_expression_reads(engine, expression, reads):
    assert engine.check([expression])[0].reads == tuple(Read(*read) for read in reads)


def _fleet(seed: int) -> list:
    chance = random.Random(seed)
    rows = []
    for at in range(6):
        devices = []
        for number in range(20):
            keys = {
                "type": chance.choice(["gpu", "mig"]),
                "index": chance.randrange(3),
                "uuid": f"u-{at}-{number}",
                "x.com/ecc": chance.random() < 0.5,
            }
            kept = {key: keys[key] for key in keys if chance.random() < 0.8}
            body = device(
                f"d-{number}", **kept, memory=chance.choice(["1Gi", "1024Mi", "2Gi"])
            )
            if chance.random() < 0.3:
                body["allowMultipleAllocations"] = True
            body["attributes"]["driver"] = {
                "version": chance.choice(["1.2.3", "1.3.0", "01.2"])
            }
            devices.append(body)
        rows.append(row("ResourceSlice", resource_slice(f"n-{at}", devices)))
    return rows


@pytest.mark.parametrize(
    "expression",
    [
        f'{D}.type == "gpu"',
        f'{D}.?type.orValue("gpu") == "gpu" && {D}.index < 2',
        'device.attributes["x.com"].ecc',
        f'{D}.uuid.endsWith("7")',
        f'device.capacity["{GPU}"].memory.compareTo(quantity("1Gi")) == 0',
        f'device.allowMultipleAllocations || {D}.driver.isLessThan(semver("1.3.0"))',
        f'{D}.exists(k, k == "index") && !("x.com" in device.attributes)',
        f"{D}.map(k, k).size() > 3",
        "device.attributes.all(d, d != 'x.com')",
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_devices_that_look_alike_get_the_verdict_that_each_alone_gets(
    post, expression, seed
):
    body = {
        "cluster": "",
        "revision": 0,
        "overlay": [
            {"kind": r.kind, "namespace": "", "name": r.name, "object": r.object}
            for r in _fleet(seed)
        ],
        "gates": ["DRAConsumableCapacity"],
        "within": [f'device.driver == "{GPU}"'],
        "expressions": [expression],
        "list": True,
    }
    status, grouped = post("/v1/cel/evaluate", body)
    assert status == 200
    _status, single = post("/v1/cel/evaluate", body | {"oneByOne": True})
    times = {"looks", "micros"}
    assert _without(grouped, times) == _without(single, times)
    assert grouped["looks"] <= single["looks"] == 120
    assert grouped["total"] == 120


def _without(answer, names):
    return {key: value for key, value in answer.items() if key not in names}


def test_within_decides_who_takes_part_and_its_errors_count(engine):
    devices = [
        device("whole", type="gpu", index=1),
        device("slice", type="mig", index=2),
        device("bare"),
    ]
    rows = [
        row("Node", node("n")),
        row("ResourceSlice", resource_slice("n", devices)),
    ]
    answer = engine.on(rows).evaluate(
        [f"{D}.index == 1"], within=[f'{D}.type == "gpu"'], listing=True
    )
    assert answer.total == 2
    assert answer.devices == Tally(match=1, no_match=0, error=1)
    assert answer.nodes == {"n": Tally(1, 0, 1)}
    assert answer.matches == (f"{GPU}/n/whole",)
    (error,) = answer.errors
    assert (error.message, error.count) == ("no such key: type", 1)
    assert error.example == f"{GPU}/n/bare"


def test_a_trace_names_devices_by_the_condition_that_leaves_them_out(engine):
    devices = [
        device("small", type="gpu", index=1),
        device("large", type="gpu", index=2),
        device("odd", type="gpu"),
        device("slice", type="mig", index=2),
        device("bare"),
    ]
    rows = [
        row("Node", node("n")),
        row("ResourceSlice", resource_slice("n", devices)),
        row("ResourceSlice", resource_slice("other", devices[:1])),
        row("ResourceSlice", resource_slice("shared", devices[1:2], allNodes=True)),
    ]
    asks = [
        ([f'{D}.type == "gpu"'], [f"{D}.index > 0", f"{D}.index > 1"]),
        ([], []),
        ([], ["foo"]),
    ]
    first, everything, faulty = engine.on(rows).trace(asks, nodes=["n"])
    assert first.stopped == (
        (f"{GPU}/n/odd",),
        (f"{GPU}/n/small",),
        (f"{GPU}/n/large", f"{GPU}/shared/large"),
    )
    assert first.reads == ((Read("attributes", GPU, "index"),),) * 2
    assert [len(ids) for ids in everything.stopped] == [6]
    assert faulty.stopped is None
    (of_all,) = engine.on(rows).trace(asks[:1])
    assert of_all.stopped[1] == (f"{GPU}/n/small", f"{GPU}/other/small")


def test_a_trace_refuses_a_class_whose_selector_does_not_compile(engine):
    with pytest.raises(EngineRefused, match="undeclared reference to 'foo'"):
        engine.trace([([], []), (["foo"], ["true"])])


def test_a_device_that_many_nodes_reach_counts_once_and_on_each(engine):
    shared = [device("s0", type="nic")]
    zoned = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
    own = [
        device("for-b", type="nic") | {"nodeName": "b"},
        device("for-all", type="nic") | {"allNodes": True},
    ]
    rows = [
        row("Node", node("a", zone="a")),
        row("Node", node("b", zone="b")),
        row("ResourceSlice", resource_slice("everywhere", shared, allNodes=True)),
        row("ResourceSlice", resource_slice("in-a", shared, nodeSelector=zoned)),
        row("ResourceSlice", resource_slice("own", own, perDeviceNodeSelection=True)),
    ]
    answer = engine.on(rows).evaluate([f'{D}.type == "nic"'])
    assert answer.devices == Tally(4, 0, 0)
    assert answer.nodes == {"a": Tally(3, 0, 0), "b": Tally(3, 0, 0)}


def test_only_the_newest_generation_of_a_pool_counts(engine):
    rows = [
        row("ResourceSlice", resource_slice("old", [device("x")], pool="p")),
        row(
            "ResourceSlice",
            resource_slice("new", [device("y")], pool="p", generation=2),
        ),
    ]
    answer = engine.on(rows).evaluate(["true"], listing=True)
    assert answer.matches == (f"{GPU}/p/y",)


def test_an_expression_that_does_not_compile_leaves_the_counts_unknown(engine):
    rows = [row("ResourceSlice", resource_slice("n", [device("x")]))]
    answer = engine.on(rows).evaluate(["true", "foo"])
    assert [verdict.ok for verdict in answer.compile] == [True, False]
    assert (answer.total, answer.devices, answer.nodes) == (None, None, {})


def test_a_class_whose_selector_does_not_compile_is_refused(engine):
    with pytest.raises(EngineRefused, match="undeclared reference to 'foo'"):
        engine.evaluate(["true"], within=["foo"])


def test_gates_decide_what_compiles(engine, process):
    from inventory.gateways.engine import Engine

    off = Engine(process("1.37"))
    expression = ["device.allowMultipleAllocations"]
    assert engine.check(expression)[0].apiserver.ok
    assert not off.check(expression)[0].apiserver.ok
    assert engine.check(expression)[0].apiserver.ok
