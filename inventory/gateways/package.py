"""The `kubernetes` package: imported late, since that takes 1.2 s, and by one thread.

Its modules import each other in circles. Threads that begin with different ones wait
for each other, until Python fails one of the imports.
"""

from __future__ import annotations

import importlib
import threading

_lock = threading.Lock()


def load_package() -> None:
    """Import all of it that we use; whoever comes meanwhile waits."""
    with _lock:
        for name in ("kubernetes.client", "kubernetes.config"):
            importlib.import_module(name)
