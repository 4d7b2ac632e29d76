"""`python -m portal.alive PROCESS`: does this host's web, watcher, worker or beat go on?

Web is asked for its /healthz, and so is an engine, such as engine-1.37, on its socket;
each other touches a file whenever it has gone once round. Django is not loaded, so that a
probe costs little; and no database is asked, since a process that waits for its database
must not be ended for it.

Exit 0: it does; 1: it has not for too long, or never did; 2: there is no such process.
"""

from __future__ import annotations

import http.client
import os
import socket
import sys
import time
from pathlib import Path

from portal import embedded

# After how many seconds without a sign each is taken for dead.
LIMITS = {"watcher": 30, "worker": 60, "beat": 60}
WEB = "web"
ENGINE = "engine-"
NAMES = (*LIMITS, WEB, f"{ENGINE}MINOR")
WEB_PORT = 8000


def path(process: str) -> Path:
    """Return the file that a process of this host touches."""
    folder = os.environ.get("SLICEWISE_RUN_DIR") or embedded.run_dir()
    return Path(folder) / f"alive-{process}"


def touch(process: str) -> None:
    """Give a sign of life."""
    path(process).touch()


def age(process: str) -> float | None:
    """Return how many seconds ago the last sign was given; None: there was none."""
    try:
        return max(time.time() - path(process).stat().st_mtime, 0)
    except OSError:
        return None


def verdict(process: str) -> tuple[int, str]:
    """Return the exit status for a process, and a sentence that says why."""
    if process == WEB or process.startswith(ENGINE):
        return _web() if process == WEB else _engine(process)
    if process not in LIMITS:
        return 2, f"There is no process {process!r}: say {', '.join(NAMES)}."
    seconds = age(process)
    if seconds is None:
        return 1, f"The {process} has given no sign on this host: is it started?"
    if seconds > LIMITS[process]:
        return 1, f"The {process} gave its last sign {seconds:.0f} s ago: restart it."
    return 0, f"The {process} is alive."


def _web() -> tuple[int, str]:
    """Ask the web process of this host, under the first name that it answers to."""
    named = os.environ.get("PORT") or str(WEB_PORT)
    if not (named.isascii() and named.isdigit() and int(named) < 65536):
        return 1, f"PORT is {named!r}, which is no port: say a number."
    port = int(named)
    host = os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip() or "localhost"
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        link.request(
            "GET", "/healthz", headers={"Host": host.lstrip("*.") or "localhost"}
        )
        status = link.getresponse().status
    except OSError as error:
        return 1, f"The web process does not answer on port {port}: {error}."
    except http.client.HTTPException:
        return 1, f"What answers on port {port} is no web process."
    finally:
        link.close()
    if status == 200:
        return 0, "The web process is alive."
    return 1, f"The web process answers {status} on port {port}: see its log."


def _engine(name: str) -> tuple[int, str]:
    """Ask an engine of this host on its socket."""
    place = path(name).with_name(f"{name}.sock")
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(3)
        try:
            link.connect(str(place))
            link.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            status = link.recv(64).split()[1:2]
        except OSError as error:
            return 1, f"The {name} does not answer on {place}: {error}."
    if status == [b"200"]:
        return 0, f"The {name} is alive."
    return 1, f"What answers on {place} is no engine."


def main(arguments: list[str]) -> int:
    """Print the sentence; return the status."""
    if len(arguments) != 1:
        sys.stderr.write(f"usage: python -m portal.alive {{{','.join(NAMES)}}}\n")
        return 2
    status, sentence = verdict(arguments[0])
    (sys.stderr if status else sys.stdout).write(sentence + "\n")
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
