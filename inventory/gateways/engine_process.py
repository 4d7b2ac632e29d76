"""The engines of this host: which one a server needs, started when it is needed.

An engine is a process of its own session that outlives whoever started it. It is
found by its socket, `RUN_DIR/engine-1.37.sock`; a lock beside it makes starters
take turns, and the socket's own answer says who is there.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.domain.engine import MINORS
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).resolve().parents[2] / "engine"
IDLE = "1h"
START_SECONDS = 10.0
STOP_SECONDS = 7.0
# sockaddr_un holds 108 bytes on Linux, 104 on macOS, with a NUL.
LONGEST_SOCKET = 103


class EngineUnavailable(PortalError):
    """No engine can be reached, or it cannot be brought up to date."""

    code = "engine.unavailable"
    permanent = False
    exit_status = 3


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """The engine of one minor on this host.

    Attributes:
        minor: such as "1.37".
        run_dir: folder of sockets, locks, logs and pid files.
        binaries: folder of engine-1.34 … engine-1.37.
        idle: after how long without a request it ends, as Go writes durations;
            "0" for never.
    """

    minor: str
    run_dir: Path
    binaries: Path = SOURCES / "bin"
    idle: str = IDLE

    @property
    def socket(self) -> Path:
        """The path of its socket."""
        return self.run_dir / f"engine-{self.minor}.sock"

    @property
    def pid_file(self) -> Path:
        """The file with the process' id, for people and for `stop`."""
        return self.run_dir / f"engine-{self.minor}.pid"

    @property
    def log(self) -> Path:
        """The file that takes its stderr."""
        return self.run_dir / f"engine-{self.minor}.log"

    def ensure(self, *, anew: bool = False) -> None:
        """Have it running; build and start it where it is not.

        Args:
            anew: end the one that is there first: an older release started it.

        Raises:
            EngineUnavailable: It cannot be built or started; says why.
        """
        if len(os.fsencode(self.socket)) > LONGEST_SOCKET:
            raise EngineUnavailable(
                _(
                    "The path %(path)s is too long for a socket; set"
                    " SLICEWISE_RUN_DIR to a shorter folder."
                )
                % {"path": self.socket}
            )
        self.run_dir.mkdir(parents=True, exist_ok=True)
        with _locked(self.run_dir / f"engine-{self.minor}.lock"):
            if anew:
                self.stop()
            if pid_at(self.socket) is None:
                self._start(self._binary())

    def stop(self) -> bool:
        """End it; return whether it was running."""
        pid = pid_at(self.socket)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_SECONDS
            while pid_at(self.socket) == pid and time.monotonic() < deadline:
                time.sleep(0.02)
        self.socket.unlink(missing_ok=True)
        self.pid_file.unlink(missing_ok=True)
        return pid is not None

    def _binary(self) -> Path:
        binary = self.binaries / f"engine-{self.minor}"
        if not binary.exists():
            command = [sys.executable, str(SOURCES / "build.py")]
            command += ["--versions", self.minor, "--out", str(self.binaries)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise EngineUnavailable(
                    _("The engine for Kubernetes %(minor)s cannot be built: %(why)s")
                    % {"minor": self.minor, "why": done.stderr.strip()}
                )
        return binary

    def _start(self, binary: Path) -> None:
        command = [str(binary), "-socket", str(self.socket), "-idle", self.idle]
        log = (os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(self.log), *log),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        try:
            pid = os.posix_spawn(
                binary, command, os.environ, file_actions=actions, setsid=True
            )
        except OSError as error:
            raise self._failed(str(error)) from error
        deadline = time.monotonic() + START_SECONDS
        while pid_at(self.socket) is None:
            if _has_ended(pid) or time.monotonic() > deadline:
                raise self._failed(self._last_words())
            time.sleep(0.02)
        self.pid_file.write_text(f"{pid}\n")

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = self.log.read_text(errors="replace").splitlines()
            return lines[-1] if lines else ""
        return ""

    def _failed(self, why: str) -> EngineUnavailable:
        return EngineUnavailable(
            _(
                "The engine for Kubernetes %(minor)s does not start; see %(log)s. %(why)s"
            )
            % {"minor": self.minor, "log": self.log, "why": why}
        )


def stop(run_dir: Path) -> list[str]:
    """End every engine of a run folder; return the names of those that ran."""
    engines = [EngineProcess(minor, run_dir) for minor in MINORS]
    return [f"engine {engine.minor}" for engine in engines if engine.stop()]


def accepts(path: Path) -> bool:
    """Return whether somebody listens on a socket.

    Asked before each exchange, since httpcore leaves a socket open that it could
    not connect.
    """
    return _said(path, b"") is not None


def pid_at(path: Path) -> int | None:
    """Return the id of the process that answers on a socket, or None."""
    answer = _said(path, b"GET /healthz HTTP/1.0\r\n\r\n") or b""
    _head, _blank, body = answer.partition(b"\r\n\r\n")
    try:
        return int(json.loads(body)["pid"])
    except (ValueError, KeyError, TypeError):
        return None


def _said(path: Path, request: bytes) -> bytes | None:
    """Return what is answered to a request; None where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5.0)
        try:
            connection.connect(str(path))
            if not request:
                return b""
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                return answer.read()
        except OSError:
            return None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _has_ended(pid: int) -> bool:
    """Return whether our child has ended; reaps it."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
