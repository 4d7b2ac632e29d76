"""`python -m portal.supervisor`: the whole portal with a cluster, from one command.

Everything that runs is a child of this process, is started again when it dies and
ends with it, even on kill -9; only the embedded Postgres and Valkey stand apart,
and those that a killed supervisor left running are taken over by the next.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from portal import embedded
from portal.demo import memory, people
from portal.demo.children import Child, spawn, stop_all
from portal.demo.stack import MINOR, Stack, free_port, port_is_free

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

PATIENCE_SECONDS = 3.0
READY_SECONDS = 120.0


class Ended(Exception):
    """Somebody asked us to stop."""


class NotStarted(Exception):
    """The demo cannot start; the text says what to do, the status is for the shell."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)  # noqa: T201  what this program is for


def main(arguments: list[str] | None = None) -> int:
    """Run the demo until it is told to stop; return the exit status."""
    options = _options(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        with _only_one() as first:
            if not first:
                return 0
            return _run(_stack(options))
    except NotStarted as error:
        print(error, file=sys.stderr)  # noqa: T201
        return error.status
    except Ended:
        return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m portal.supervisor", description="Run Slicewise with a cluster."
    )
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument(
        "--cluster",
        choices=["simulated", "real"],
        default="simulated",
        help="real: etcd and Kubernetes themselves, built when first asked for;"
        " SLICEWISE_KUBECONFIG names one that is there",
    )
    return parser.parse_args(arguments)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Ended


@contextmanager
def _only_one() -> Iterator[bool]:
    """Yield True if no other supervisor runs on this state; else say where it is."""
    with (embedded.run_dir() / "supervisor.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"Slicewise runs already, {_where()}. Stop it there with Ctrl-C.")
            yield False
            return
        yield True


def _where() -> str:
    known = _note()
    if not known:
        return "and is just starting"
    return f"at {known['address']} (process {known['pid']})"


def _note() -> dict[str, Any]:
    """Return what the supervisor that runs, or was killed, noted of itself."""
    try:
        known = json.loads((embedded.run_dir() / "supervisor.json").read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_note(stack: Stack) -> None:
    known = {"pid": os.getpid(), "address": stack.address, "owns": sorted(stack.owns)}
    (embedded.run_dir() / "supervisor.json").write_text(json.dumps(known))


def _stack(options: argparse.Namespace) -> Stack:
    """Return what to run.

    Raises:
        NotStarted: The port is taken, or no such kubeconfig.
    """
    port = options.port or free_port()
    if not port_is_free(port):
        raise NotStarted(
            f"Port {port} is taken by another program. Choose another: make demo"
            f" PORT={port + 1}",
            status=2,
        )
    given = os.environ.get("SLICEWISE_KUBECONFIG")
    stack = Stack(port=port, cluster="given" if given else options.cluster)
    if given and not stack.kubeconfig.is_file():
        raise NotStarted(
            f"SLICEWISE_KUBECONFIG names {given}, which is not a file.", status=2
        )
    return stack


def _run(stack: Stack) -> int:
    """Start all, keep all running, stop all."""
    children: list[Child] = []
    try:
        _start(stack, children)
        signal.signal(signal.SIGUSR1, lambda *_: say(_memory(children)))
        while True:
            _tend(children)
            time.sleep(0.2)
    except Ended:
        return 0
    finally:
        _stop(stack, children)


def _start(stack: Stack, children: list[Child]) -> None:
    say("Starting Postgres and Valkey" + _seconds_on_a_first_run())
    stack.open_databases()
    # What a killed supervisor started and left behind is ours to stop.
    stack.owns |= set(_note().get("owns", [])) & set(embedded.pids())
    _write_note(stack)
    _build_engine(stack)
    stack.end_leftover_engine()
    _add(children, stack.engine())
    control_plane = stack.control_plane()
    if control_plane is not None:
        stack.kubeconfig.unlink(missing_ok=True)
        _add(children, control_plane)
    say("Preparing the database")
    _manage(stack, "prepare_demo")
    _add(children, stack.web())
    _connect(stack, children)
    for child in stack.background():
        _add(children, child)
    _await_ready(stack, children)
    _announce(stack)


def _seconds_on_a_first_run() -> str:
    first = not (embedded.state_dir() / "postgres").exists()
    return " (some seconds on a first run)" if first else ""


def _build_engine(stack: Stack) -> None:
    """Build the engine where `make setup` has not.

    Raises:
        NotStarted: It cannot be built; the builder has said why.
    """
    if stack.engine_binary.exists():
        return
    say("Building the engine (minutes, once)")
    command = [sys.executable, "engine/build.py", "--versions", MINOR]
    if subprocess.run(command, cwd=embedded.ROOT, check=False).returncode:
        raise NotStarted("The engine cannot be built: see above.", status=3)


def _add(children: list[Child], child: Child) -> None:
    children.append(child)
    child.start()


def _tend(children: list[Child]) -> None:
    for child in children:
        line = child.tend()
        if line:
            say(line)


def _connect(stack: Stack, children: list[Child]) -> None:
    """Wait for the cluster, then tell the portal of it."""
    names = {"simulated": "the simulated cluster", "real": "Kubernetes"}
    if stack.cluster in names:
        say(
            f"Waiting for {names[stack.cluster]}"
            + (", built when first asked for" if stack.cluster == "real" else "")
        )
        _await(stack.kubeconfig.is_file, children, seconds=3600)
    kind = ["--simulated"] if stack.cluster == "simulated" else []
    _manage(stack, "add_cluster", people.CLUSTER, str(stack.kubeconfig), *kind)


def _manage(stack: Stack, *command: str) -> None:
    """Run a management command.

    Raises:
        NotStarted: It failed; with the end of what it said.
    """
    log = stack.state / "logs" / f"{command[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    process = spawn(
        [sys.executable, "manage.py", *command],
        env=stack.env,
        log=log,
        cwd=embedded.ROOT,
    )
    try:
        status = process.wait()
    except Ended:
        process.kill()
        process.wait()
        raise
    if status:
        said = log.read_text().strip()[-600:]
        raise NotStarted(f"`manage.py {command[0]}` failed: {said}", status=3)


def _await_ready(stack: Stack, children: list[Child]) -> None:
    say("Reading the cluster")

    def ready() -> bool:
        return _answers(stack) and stack.cluster_is_read()

    if not _await(ready, children, seconds=READY_SECONDS):
        raise NotStarted(
            f"The portal did not become ready in {READY_SECONDS:g} s. What its parts"
            f" say is in {stack.state / 'logs'}",
            status=3,
        )


def _answers(stack: Stack) -> bool:
    url = f"http://127.0.0.1:{stack.port}/readyz"
    with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def _await(
    condition: Callable[[], bool], children: list[Child], *, seconds: float
) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        _tend(children)
        time.sleep(0.1)
    return True


def _announce(stack: Stack) -> None:
    say(f"\nSlicewise is ready at {stack.address}\n\nSign in as\n{people.log_ins()}\n")
    say(f"Logs are in {stack.state / 'logs'}. Ctrl-C stops everything.")


def _memory(children: list[Child]) -> str:
    pids = {child.name: child.pid for child in children if child.pid}
    pids.update(embedded.pids())
    return memory.table({"supervisor": os.getpid(), **pids})


def _stop(stack: Stack, children: list[Child]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    say("\nStopping")
    stubborn = stop_all(children, patience_seconds=PATIENCE_SECONDS)
    if stubborn:
        say(f"Ended by force: {', '.join(stubborn)}")
    embedded.stop(stack.owns)
    (embedded.run_dir() / "supervisor.json").unlink(missing_ok=True)


if __name__ == "__main__":
    raise SystemExit(main())
