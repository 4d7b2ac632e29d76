"""How a command ends when it does not end well.

Exit 0: done; 1: refused, failed, or findings of level error; 2: usage or input;
3: the portal or what is behind it does not answer; 4: waited long enough;
130: interrupted, as shells say of SIGINT.
"""

from __future__ import annotations

DONE, REFUSED, USAGE, AWAY, TIMED_OUT = range(5)
INTERRUPTED = 130


class CommandError(Exception):
    """A sentence for a person, and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
