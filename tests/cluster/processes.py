"""Programs that must not outlive us, each with a log, each stopped by its own pid."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class ProgramEnded(Exception):
    """A program that should be running has ended; the text carries its log's end."""


@dataclass(slots=True)
class Children:
    """The programs of one control plane, in the order in which they were started."""

    logs: Path
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, command: list[str]) -> None:
        """Start a program; its output goes to `<name>.log`, and it dies when we do."""
        parent = os.getpid()
        with (self.logs / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: _die_with(parent),
                start_new_session=True,
            )

    def is_running(self, name: str) -> bool:
        """Return whether a program was started and has not ended."""
        process = self._running.get(name)
        return process is not None and process.poll() is None

    def check(self, *names: str) -> None:
        """Look whether the named programs, or all, still run.

        Raises:
            ProgramEnded: One does not.
        """
        for name in names or self._running:
            process = self._running[name]
            if process.poll() is not None:
                tail = self.log(name).splitlines()[-8:]
                raise ProgramEnded(
                    f"{name} ended with {process.returncode}; the end of its log:\n"
                    + "\n".join(tail)
                )

    def log(self, name: str) -> str:
        """Return what a program has written so far."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def stop(self, name: str) -> None:
        """Stop one program and wait for it: asked first, killed after five seconds."""
        process = self._running.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """End one program as a crash would, and wait for it."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop_all(self) -> None:
        """Kill all at once, and wait: nothing here has data worth a slow goodbye."""
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def pids(self) -> dict[str, int]:
        """Return the pid of each program that was started and not stopped."""
        return {name: process.pid for name, process in self._running.items()}


def _die_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, and notice if it has."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def free_ports(count: int) -> list[int]:
    """Return loopback ports that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
