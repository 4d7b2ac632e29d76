"""The engines of this host: which one a server needs, started when it is needed.

An engine is a process of its own session that outlives whoever started it. It is
found by its socket, `RUN_DIR/engine-1.37.sock`; a lock beside it makes starters
take turns, and the socket's own answer says who is there. One that hangs still has
its socket, so that nobody could start another: it is ended by whoever notices.

Where something else starts engines, as containers beside ours, we only wait for them:
one of ours on the socket would keep theirs from starting.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from django.utils.translation import gettext as _

from inventory.domain.engine import MINORS
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = structlog.get_logger(__name__)

SOURCES = Path(__file__).resolve().parents[2] / "engine"
IDLE = "1h"
START_SECONDS = 10.0
STOP_SECONDS = 7.0
KILL_SECONDS = 2.0
# Who is not told within this that it is alive takes it for hung.
HUNG_SECONDS = 3.0
# How long we wait for an engine that somebody else starts.
WAIT_SECONDS = 5.0
# sockaddr_un holds 108 bytes on Linux, 104 on macOS, with a NUL.
LONGEST_SOCKET = 103
# struct ucred: process, user, group.
_CREDENTIALS = struct.Struct("3i")


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
        external: something else starts it; we wait for it, and may end it.
    """

    minor: str
    run_dir: Path
    binaries: Path = SOURCES / "bin"
    idle: str = IDLE
    external: bool = False

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
        """Have it running; build and start it where it is not, or hangs.

        Args:
            anew: end the one that is there first: an older release started it.

        Raises:
            EngineUnavailable: It cannot be built or started, or whatever is to start
                it has not; says why.
        """
        if len(os.fsencode(self.socket)) > LONGEST_SOCKET:
            raise EngineUnavailable(
                _(
                    "The path %(path)s is too long for a socket; set"
                    " SLICEWISE_RUN_DIR to a shorter folder."
                )
                % {"path": self.socket}
            )
        if self.external:
            self._await()
            return
        self.run_dir.mkdir(parents=True, exist_ok=True)
        with _locked(self.run_dir / f"engine-{self.minor}.lock"):
            if anew:
                self.stop()
            if pid_at(self.socket) is None:
                self._kill(owner_at(self.socket))
                self._start(self._binary())

    def stop(self) -> bool:
        """End it, by force where it does not listen; return whether it was running."""
        pid = owner_at(self.socket)
        if pid is not None:
            _signal(pid, signal.SIGTERM)
            if not self._is_left_by(pid, STOP_SECONDS):
                self._kill(pid)
        self.socket.unlink(missing_ok=True)
        self.pid_file.unlink(missing_ok=True)
        return pid is not None

    def end_if_hung(self) -> bool:
        """End it by force where it listens and does not even say that it is alive.

        Only whoever owns the socket is ended, as the kernel says: no process that
        took a dead one's id, and none that was started meanwhile.

        Returns:
            Whether it hung; the next who asks starts another.
        """
        pid = owner_at(self.socket)
        if pid is None or pid_at(self.socket, seconds=HUNG_SECONDS) is not None:
            return False
        if owner_at(self.socket) == pid:
            self._kill(pid)
        return True

    def _kill(self, pid: int | None) -> None:
        """End the owner of the socket at once; None: there is none."""
        if pid is not None:
            logger.warning("an engine that hangs is ended", minor=self.minor, pid=pid)
            _signal(pid, signal.SIGKILL)
            self._is_left_by(pid, KILL_SECONDS)

    def _is_left_by(self, pid: int, seconds: float) -> bool:
        """Wait until a process no longer owns the socket; return whether it came so."""
        deadline = time.monotonic() + seconds
        while owner_at(self.socket) == pid:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _await(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while pid_at(self.socket, seconds=HUNG_SECONDS) is None:
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    _(
                        "No engine for Kubernetes %(minor)s answers on %(socket)s;"
                        " this process starts none: see the log of the container that"
                        " does."
                    )
                    % {"minor": self.minor, "socket": self.socket}
                )
            time.sleep(0.1)

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


def pid_at(path: Path, *, seconds: float = 5.0) -> int | None:
    """Return the id of the process that answers on a socket, or None."""
    answer = _said(path, b"GET /healthz HTTP/1.0\r\n\r\n", seconds) or b""
    _head, _blank, body = answer.partition(b"\r\n\r\n")
    try:
        return int(json.loads(body)["pid"])
    except (ValueError, KeyError, TypeError):
        return None


def owner_at(path: Path) -> int | None:
    """Return the id of the process that listens on a socket, even of one that hangs.

    None where nobody listens, or somebody of another user or out of our sight. The
    kernel is asked; where it cannot be, as outside Linux, the process itself is.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return pid_at(path)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5.0)
        try:
            connection.connect(str(path))
            told = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
        except OSError:
            return None
    pid, user, _group = _CREDENTIALS.unpack(told)
    return pid if pid > 0 and user == os.getuid() else None


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _said(path: Path, request: bytes, seconds: float = 5.0) -> bytes | None:
    """Return what is answered to a request; None where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
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
