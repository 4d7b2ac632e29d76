"""What `make bench` measures, one function a row."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import orjson
from django.conf import settings
from django.utils import timezone

from claims.services.preview import preview
from engine.build import go_command
from inventory.domain.engine import Snapshot
from inventory.services.engines import engine_for
from inventory.services.loading import load_cluster
from tests.bench import problems
from tests.bench.dumps import loaded, world_seconds
from tests.bench.serving import served

HERE = Path(__file__).resolve().parent
ROUNDS = 9


@dataclass(frozen=True)
class Found:
    """One figure: whether its target holds, and the sentence that says it."""

    holds: bool
    sentence: str


@contextmanager
def reference(problem: dict) -> Iterator[Callable[[], float]]:
    """Give a turn of Kubernetes' own allocator, alone, on a problem: its seconds."""
    with subprocess.Popen(
        [_reference_program()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "GOMAXPROCS": "1"},
    ) as program:

        def turn(said: object) -> float:
            program.stdin.write(json.dumps(said) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())["micros"] / 1e6

        turn(problem)
        yield lambda: turn(1)
        program.stdin.close()


def against(
    problem: dict, ask: Callable[[], object], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Return median seconds of ours and of the reference, and the median of ratios.

    Each of ours stands beside one of the reference, so that a busy machine is one
    to both.
    """
    ours, theirs = [], []
    with reference(problem) as turn:
        ask(), turn()
        for _ in range(rounds):
            started = time.perf_counter()
            ask()
            ours.append(time.perf_counter() - started)
            theirs.append(turn())
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return statistics.median(ours), statistics.median(theirs), statistics.median(ratios)


def _reference_program() -> Path:
    """Return the built reference, made with the engine's own module file."""
    engine = settings.BASE_DIR / "engine"
    folder = Path(settings.SLICEWISE_RUN_DIR).parent / "reference"
    folder.mkdir(exist_ok=True)
    for name in ("go.mod", "go.sum"):
        shutil.copy(engine / name, folder / name)
    shutil.copy(HERE / "reference" / "main.go", folder / "main.go")
    subprocess.run(
        [go_command(), "build", "-buildvcs=false", "-trimpath", "-o", "reference", "."],
        cwd=folder,
        check=True,
    )
    return folder / "reference"


def timed(ask: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the seconds of each of some rounds, sorted; one unmeasured goes before."""
    ask()
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - started)
    return sorted(taken)


def preview_row() -> Iterator[Found]:
    """Preview of a claim over 1,000 nodes, against the allocator alone."""
    for shape in [(1000, 0, 60), (800, 200, 60)]:
        problem = problems.problem(*shape)
        cluster = load_cluster(
            "bench",
            problems.objects(problem),
            kubernetes_version="1.37.2",
            feature_gates={},
            now=timezone.now(),
        ).cluster
        ours, theirs, ratio = against(
            problem, lambda c=cluster, p=problem: preview(c, p["claims"])
        )
        yield Found(
            ratio <= 1.5,
            f"{shape}: {ours * 1000:.0f} ms, allocator alone {theirs * 1000:.0f} ms,"
            f" ratio {ratio:.2f} of at most 1.5",
        )


def rest_row() -> Iterator[Found]:
    """The same preview end to end, with first causes: POST over HTTP, the answer read."""
    with served() as client:
        for shape in [(1000, 0, 60), (800, 200, 60)]:
            problem = problems.problem(*shape)
            load_cluster(
                "bench",
                problems.objects(problem),
                kubernetes_version="1.37.2",
                feature_gates={},
                now=timezone.now(),
            )
            body = {"objects": problem["claims"]}

            def ask(sent: dict = body) -> None:
                answer = client.post("/api/v1/clusters/bench/preview", json=sent)
                nodes = orjson.loads(answer.content)["items"][0]["preview"]["nodes"]
                assert len(nodes) == 1000
                assert all(n["causes"] for n in nodes.values() if n["outcome"] == "no")

            ours, theirs, ratio = against(problem, ask, rounds=3 * ROUNDS)
            yield Found(
                ratio <= 1.5,
                f"{shape} over REST: {ours * 1000:.0f} ms, allocator alone"
                f" {theirs * 1000:.0f} ms, ratio {ratio:.2f} of at most 1.5",
            )


def growth_row() -> Iterator[Found]:
    """How the cost of a preview and of a load grows with the nodes.

    A preview's is held against the allocator's own, a load's against a node's share
    of a small one.
    """
    share = 0.0
    for nodes in (250, 1_000, 4_000):
        problem = problems.problem(nodes, 0, 60)
        started = time.perf_counter()
        cluster = load_cluster(
            "bench",
            problems.objects(problem),
            kubernetes_version="1.37.2",
            feature_gates={},
            now=timezone.now(),
        ).cluster
        load = time.perf_counter() - started
        share = share or load / nodes
        growth = load / nodes / share
        ours, theirs, ratio = against(
            problem, lambda c=cluster, p=problem: preview(c, p["claims"]), 3
        )
        yield Found(
            ratio <= 1.5 and growth <= 1.5,
            f"{nodes} nodes of 8 cards: preview {ours * 1000:.0f} ms, allocator alone"
            f" {theirs * 1000:.0f} ms, ratio {ratio:.2f} of at most 1.5; load"
            f" {load:.1f} s, a node {growth:.2f} × its share of 250, of at most 1.5",
        )


def load_row() -> Iterator[Found]:
    """A dump of 2,000 slices and 40,000 devices as a cluster; what checks see of it."""
    seconds, megabytes = loaded("bench-load")
    yield Found(
        seconds <= 20 and megabytes <= 400,
        f"2,000 slices: {seconds:.1f} s of at most 20 s, {megabytes:.0f} MB of at most"
        " 400 MB",
    )
    first, *after = world_seconds("bench-load")
    ratio = max(after) / first
    yield Found(
        ratio <= 0.1,
        f"40,000 devices seen by checks: {first:.2f} s at first, after a change"
        f" {max(after) * 1000:.0f} ms, ratio {ratio:.3f} of at most 0.1",
    )


def keystroke_row() -> Iterator[Found]:
    """A CEL field's verdict and counts over 40,000 devices."""
    problem = problems.problem(312, 247, 60)
    cluster = load_cluster(
        "bench",
        problems.objects(problem),
        kubernetes_version="1.37.2",
        feature_gates={},
        now=timezone.now(),
    ).cluster
    engine = engine_for(cluster)
    within = ['device.driver == "gpu.nvidia.com"']
    expression = problem["claims"][0]["spec"]["devices"]["requests"][0][
        "firstAvailable"
    ][0]["selectors"][0]["cel"]["expression"]
    total = engine.evaluate([expression], within=within).total

    typed = count()

    def keystroke() -> None:
        # Mostly what was read a moment ago; every fifth reads a key that none did.
        key = next(typed)
        what = f'!("k{key}" in device.attributes["gpu.nvidia.com"])'
        text = f"{expression} && {'true' if key % 5 else what}"
        engine.check([text])
        engine.evaluate([text], within=within)

    taken = timed(keystroke, rounds=40)
    p95 = taken[int(len(taken) * 0.95)]
    yield Found(
        p95 < 0.3,
        f"{total:,} devices: p50 {statistics.median(taken) * 1000:.0f} ms,"
        f" p95 {p95 * 1000:.0f} ms of at most 300 ms",
    )
    each = statistics.median(
        timed(lambda: one_by_one(cluster, within, expression), rounds=5)
    )
    ratio = statistics.median(taken) / each
    yield Found(
        ratio <= 0.3,
        f"{total:,} devices: ratio {ratio:.2f} of at most 0.3 of each device in turn"
        f" ({each * 1000:.0f} ms)",
    )


def watcher_row() -> Iterator[Found]:
    """A change in the cluster until an open page is told, at 200 a second; a first sync."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", str(HERE / "watching.py")],
            cwd=settings.BASE_DIR,
            env={**os.environ, "BENCH_FIGURES": str(path)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        found = json.loads(path.read_text())
    yield Found(
        found["page_p99"] < 1,
        f"{found['rate']:.0f} changes/s: on an open page within p50"
        f" {found['page_p50']:.2f} s, p99 {found['page_p99']:.2f} s of at most 1 s;"
        f" committed p50 {found['commit_p50']:.2f} s, p99 {found['commit_p99']:.2f} s",
    )
    yield Found(
        found["seconds"] < 20,
        f"{found['slices']} slices of 20 devices synced in {found['seconds']:.1f} s of"
        f" at most 20 s, +{found['megabytes']:.0f} MB",
    )


def sync_row() -> Iterator[Found]:
    """The first sync of 2,000 slices of a real server, against kubectl's reading them."""
    from tests.bench import syncing

    found = syncing.measured()
    yield Found(
        found.ratio <= 0.7,
        f"{syncing.SLICES} slices, {syncing.SLICES * syncing.PER_SLICE} devices:"
        f" {found.ours:.1f} s, kubectl {found.theirs:.1f} s,"
        f" ratio {found.ratio:.2f} of at most 0.7",
    )
    yield Found(
        found.our_memory < 300 * 2**20,
        f"the watcher's memory {found.our_memory / 2**20:.0f} MB of at most 300 MB,"
        f" kubectl's {found.their_memory / 2**20:.0f} MB",
    )


def gpus_row() -> Iterator[Found]:
    """The GPUs page at 8,000 cards, in the server's own processor time."""
    from django.test import Client

    from portal.accounts.models import User
    from tests.integration.pages.test_size import NODES, slice_of

    load_cluster(
        "bench",
        [slice_of(number) for number in range(NODES)],
        kubernetes_version="1.37.2",
        feature_gates={},
        now=timezone.now(),
    )
    user, _made = User.objects.get_or_create(
        username="bench", defaults={"roles": ["admin"]}
    )
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        answer = client.get("/c/bench/gpus/?from=node-0500")
        taken.append(time.process_time() - started)
        assert answer.status_code == 200, answer.status_code
    seconds = statistics.median(taken)
    yield Found(
        seconds < 0.2, f"8,000 cards: {seconds * 1000:.0f} ms of at most 200 ms"
    )


def devices_row() -> Iterator[Found]:
    """A late page of 100,000 devices against the first, and whole streams."""
    from tests.bench.devices import measure

    found = measure()
    ratio = found.last / found.first
    yield Found(
        ratio <= 1.5,
        f"first page {found.first * 1000:.0f} ms, last {found.last * 1000:.0f} ms,"
        f" ratio {ratio:.2f} of at most 1.5",
    )
    for kind, each in found.streams.items():
        yield Found(
            each.grown < 48 * 2**20,
            f"{kind} of 100,000 devices, {each.size / 1e6:.1f} MB in"
            f" {each.seconds:.1f} s: +{each.grown / 2**20:.0f} MB of at most 48 MB",
        )


def one_by_one(cluster: object, within: list[str], expression: str) -> None:
    """Evaluate with no device taken for another that looks alike."""
    import httpx

    engine = engine_for(cluster)  # type: ignore[arg-type]
    snapshot: Snapshot = engine.snapshot  # type: ignore[assignment]
    body = {
        "cluster": snapshot.cluster_id,
        "revision": snapshot.revision,
        "gates": list(engine.gates),
        "within": within,
        "expressions": [expression],
        "oneByOne": True,
    }
    transport = httpx.HTTPTransport(uds=str(engine.process.socket))
    with httpx.Client(transport=transport, timeout=30) as client:
        client.post("http://engine/v1/cel/evaluate", json=body).raise_for_status()


def admission_row() -> Iterator[Found]:
    """Answer of our webhooks, against one that does nothing, on one API server."""
    from tests.bench import admission

    ours, theirs = admission.measured()
    ratio = ours / theirs
    yield Found(
        ratio <= 3,
        f"{admission.RATE} reviews/s for {admission.SECONDS} s: p99"
        f" {ours * 1000:.0f} ms, a webhook that does nothing {theirs * 1000:.0f} ms,"
        f" ratio {ratio:.2f} of at most 3",
    )


ROWS: dict[str, Callable[[], Iterator[Found]]] = {
    "preview": preview_row,
    "rest": rest_row,
    "growth": growth_row,
    "load": load_row,
    "keystroke": keystroke_row,
    "sync": sync_row,
    "watcher": watcher_row,
    "devices": devices_row,
    "gpus": gpus_row,
    "admission": admission_row,
}
