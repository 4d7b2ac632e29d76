"""What the engine keeps of a cluster, and how it is brought up to date."""

from __future__ import annotations

import threading

import httpx
import pytest

from inventory.domain.engine import Snapshot
from inventory.gateways.engine import AsyncEngine, Engine, EngineUnavailable
from tests.engine import problems
from tests.engine.problems import GATES, GPU, device, resource_slice, row


def _rows(*rows) -> list[dict]:
    return [
        {"kind": r.kind, "namespace": r.namespace, "name": r.name, "object": r.object}
        for r in rows
    ]


def _slice(name: str) -> dict:
    return _rows(row("ResourceSlice", resource_slice(name, [device("d")])))[0]


def _update(post, cluster, *, since, revision, rows):
    body = {"from": since, "revision": revision, "rows": rows}
    return post(f"/v1/clusters/{cluster}/rows", body)


def _matches(post, cluster, revision):
    body = {"cluster": cluster, "revision": revision, "gates": [], "list": True}
    return post("/v1/cel/evaluate", body | {"expressions": ["true"]})


def test_rows_replace_change_and_remove(post):
    gone = {"kind": "ResourceSlice", "namespace": "", "name": "a", "object": None}
    status, body = _update(
        post, "rows", since=0, revision=3, rows=[_slice("a"), _slice("b")]
    )
    assert (status, body["revision"], body["counts"]["ResourceSlice"]) == (200, 3, 2)
    _update(post, "rows", since=3, revision=5, rows=[gone, _slice("c")])
    _status, answer = _matches(post, "rows", 5)
    assert answer["revision"] == 5
    assert answer["matches"] == [f"{GPU}/b/d", f"{GPU}/c/d"]
    _update(post, "rows", since=0, revision=6, rows=[_slice("z")])
    assert _matches(post, "rows", 6)[1]["matches"] == [f"{GPU}/z/d"]


def test_a_request_ahead_of_the_engine_is_told_what_it_has(post):
    _update(post, "ahead", since=0, revision=3, rows=[])
    for cluster, have in (("ahead", 3), ("never-seen", 0)):
        status, body = _matches(post, cluster, 4)
        assert (status, body["code"], body["revision"]) == (409, "behind", have)
    assert _matches(post, "ahead", 3)[0] == 200


def test_rows_that_do_not_follow_what_is_there_are_refused_and_change_nothing(post):
    _update(post, "gap", since=0, revision=3, rows=[_slice("a")])
    status, body = _update(post, "gap", since=2, revision=9, rows=[_slice("b")])
    assert (status, body["code"], body["revision"]) == (409, "behind", 3)
    assert _matches(post, "gap", 3)[1]["matches"] == [f"{GPU}/a/d"]


def test_an_object_that_cannot_be_read_is_named_and_changes_nothing(post):
    _update(post, "bad", since=0, revision=1, rows=[_slice("a")])
    bad = {"kind": "ResourceSlice", "namespace": "", "name": "x", "object": {"spec": 3}}
    status, body = _update(post, "bad", since=1, revision=2, rows=[bad])
    assert (status, body["code"]) == (422, "object")
    assert "ResourceSlice x cannot be read" in body["message"]
    assert _matches(post, "bad", 1)[1]["revision"] == 1


def test_other_kinds_are_left_out(post):
    pod = {"kind": "Pod", "namespace": "n", "name": "p", "object": {"spec": {}}}
    _status, body = _update(post, "kinds", since=0, revision=1, rows=[pod])
    assert sum(body["counts"].values()) == 0


def test_a_cluster_can_be_looked_at_and_forgotten(post):
    _update(post, "short", since=0, revision=1, rows=[])
    assert post("/v1/clusters/short", {}, "GET")[1]["revision"] == 1
    assert post("/v1/clusters/short", {}, "DELETE")[0] == 200
    assert post("/v1/clusters/short", {}, "GET")[0] == 404


def test_an_overlay_is_for_one_request_only(post):
    _update(post, "over", since=0, revision=1, rows=[_slice("a"), _slice("b")])
    gone = {"kind": "ResourceSlice", "namespace": "", "name": "a", "object": None}
    body = {"cluster": "over", "revision": 1, "gates": [], "list": True}
    body |= {"expressions": ["true"], "overlay": [gone, _slice("c")]}
    answer = post("/v1/cel/evaluate", body)[1]
    assert answer["matches"] == [f"{GPU}/b/d", f"{GPU}/c/d"]
    assert _matches(post, "over", 1)[1]["matches"] == [f"{GPU}/a/d", f"{GPU}/b/d"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/nothing", {}, 404, "path"),
        ("/v1/allocate", {"claims": "x"}, 400, "body"),
        ("/v1/allocate", {"claims": []}, 422, "claims"),
        ("/v1/allocate", {"claims": [{}], "nodes": ["x"]}, 404, "node"),
    ],
)
def test_bad_requests_say_what_is_wrong(post, path, body, status, code):
    got, answer = post(path, body)
    assert (got, answer["code"]) == (status, code)
    assert answer["message"]


# The client


class Source:
    """Rows of a cluster as a database would give them, counting how often."""

    def __init__(self, cluster: str, revision: int = 4) -> None:
        self.cluster, self.revision, self.asked = cluster, revision, []

    def rows_since(self, have: int):
        self.asked.append(have)
        if have:
            return self.revision, [row("ResourceSlice", None, name="big")]
        return self.revision, problems.two_nodes()

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.cluster, self.revision, self.rows_since)


def test_the_client_fills_an_engine_that_is_behind(process):
    source = Source("client/with strange #name")
    engine = Engine(process("1.37"), source.snapshot, GATES)
    assert engine.evaluate(["true"]).devices.match == 4
    assert engine.evaluate(["true"]).devices.match == 4
    assert source.asked == [0]
    source.revision = 5
    later = Engine(process("1.37"), source.snapshot, GATES)
    assert later.evaluate(["true"]).devices.match == 2
    assert source.asked == [0, 4]


async def test_the_async_client_fills_too(process):
    source = Source("async")
    engine = AsyncEngine(process("1.37"), source.snapshot, GATES)
    assert (await engine.evaluate(["true"])).devices.match == 4
    assert source.asked == [0]


def test_only_one_of_many_sends_the_rows(process):
    source = Source("crowd")
    answers, gate = [], threading.Barrier(6)

    def ask():
        gate.wait()
        engine = Engine(process("1.37"), source.snapshot, GATES)
        answers.append(engine.evaluate(["true"]).devices.match)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [4] * 6
    assert source.asked == [0]


def test_json_text_goes_through_as_it_is(process):
    import json

    from inventory.domain.engine import Row

    text = json.dumps(resource_slice("n", [device("d")]))
    engine = Engine(process("1.37"), overlay=(Row("ResourceSlice", "", "n", text),))
    assert engine.evaluate(["true"]).devices.match == 1


def test_a_source_that_never_gets_there_ends_in_a_sentence(process):
    snapshot = Snapshot("stuck", 9, lambda have: (have or 1, []))
    with pytest.raises(EngineUnavailable, match="revision 9"):
        Engine(process("1.37"), snapshot).evaluate(["true"])


def test_the_least_recently_used_cluster_is_dropped(run_dir):
    import subprocess

    from inventory.gateways.engine_process import EngineProcess, accepts

    own = run_dir / "few"
    own.mkdir()
    process = EngineProcess("1.37", own)
    binary = process.binaries / "engine-1.37"
    command = [binary, "-socket", process.socket, "-clusters", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
        while not accepts(process.socket):
            assert child.poll() is None
        transport = httpx.HTTPTransport(uds=str(process.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://engine") as client:
            body = {"from": 0, "revision": 1, "rows": []}
            client.post("/v1/clusters/a/rows", json=body)
            client.post("/v1/clusters/b/rows", json=body)
            client.get("/v1/clusters/a")
            client.post("/v1/clusters/c/rows", json=body)
            found = [client.get(f"/v1/clusters/{name}").status_code for name in "abc"]
        child.terminate()
    assert found == [200, 404, 200]
