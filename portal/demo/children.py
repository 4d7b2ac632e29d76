"""Child processes that are restarted when they die, and never outlive their parent.

Each child is the leader of a session of its own, so that Ctrl-C in a terminal
reaches only the supervisor; the kernel kills it when the supervisor is gone
(PR_SET_PDEATHSIG, which speaks of the *thread* that started it: all are started
from the main one). Where the kernel has no such call, as on macOS, a supervisor
killed with -9 leaves its children to the next one, which ends them first.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PR_SET_PDEATHSIG = 1
BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
SETTLED_SECONDS = 30.0
LOG_LIMIT_BYTES = 20 * 1024 * 1024

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _die_with_parent(parent: int) -> Callable[[], None]:
    """Return what a child does before it becomes its program."""

    def arrange() -> None:
        if _libc is not None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    return arrange


def spawn(
    command: list[str], *, env: Mapping[str, str], log: Path, cwd: Path
) -> subprocess.Popen[bytes]:
    """Start a program as a child that dies with us, its output appended to `log`."""
    with suppress(FileNotFoundError):
        if log.stat().st_size > LOG_LIMIT_BYTES:
            log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent(os.getpid()),
        )


@dataclass
class Child:
    """One program that should always run."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    log: Path
    cwd: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    next_start_at: float = 0.0
    failures: int = field(default=0)

    def start(self) -> None:
        """Start it now."""
        self.started_at = time.monotonic()
        self.process = spawn(self.command, env=self.env, log=self.log, cwd=self.cwd)

    def tend(self) -> str | None:
        """Start it again if it died and its pause is over; return a line to print."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.next_start_at:
                self.start()
            return None
        status = self.process.poll()
        if status is None:
            return None
        if now - self.started_at > SETTLED_SECONDS:
            self.failures = 0
        pause = BACKOFF_SECONDS[min(self.failures, len(BACKOFF_SECONDS) - 1)]
        self.failures += 1
        self.process, self.next_start_at = None, now + pause
        return f"{self.name} ended ({_reason(status)}); again in {pause:g} s. Its log: {self.log}"

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        running = self.process is not None and self.process.poll() is None
        return self.process.pid if self.process and running else None


def _reason(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit {status}"


def stop_all(children: list[Child], *, patience_seconds: float) -> list[str]:
    """Ask all to end, then make them; return the names of those that had to be made."""
    for child in children:
        _signal(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_seconds
    while any(child.pid for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    stubborn = [child.name for child in children if child.pid]
    for child in children:
        if child.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()
    return stubborn


def _signal(pid: int | None, number: int) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
