"""What the driver's controller does with ComputeDomains, for clusters without it.

The rules are those of the simulated cluster; here they read and write a real API server.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import cast

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import KubeError, NotFound
from inventory.gateways.kube import Kube
from simcluster.domains import tend_domains
from simcluster.kinds import Kind, Object
from simcluster.storage import Store

EVERY_SECONDS = 0.25


class OfServer:
    """A server's objects, read and written as the simulated cluster's rules do."""

    def __init__(self, kube: Kube) -> None:
        """Take the server, as somebody who may do everything."""
        self._kube = kube

    def items(self, kind: Kind) -> list[Object]:
        """Return a kind's objects."""
        return self._kube.list(BY_NAME[kind.name]).items

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """Return an object, or None."""
        with contextlib.suppress(NotFound):
            return self._kube.get(BY_NAME[kind.name], name, namespace)
        return None

    def put(self, kind: Kind, body: Object) -> None:
        """Create an object, or give the one of its name its finalizers and status."""
        name, namespace = _place(body)
        known = BY_NAME[kind.name]
        if self.get(kind, name, namespace) is None:
            self._kube.create(kind.stamped(body))
            return
        metadata = {"finalizers": body["metadata"].get("finalizers")}
        self._kube.patch(known, name, {"metadata": metadata}, namespace)
        if body.get("status"):
            status = {"status": body["status"]}
            self._kube.patch(known, name, status, namespace, subresource="status")

    def remove(self, kind: Kind, body: Object) -> None:
        """Let nothing hold an object back any more, and delete it."""
        name, namespace = _place(body)
        metadata = {"metadata": {"finalizers": None}}
        with contextlib.suppress(NotFound):
            self._kube.patch(BY_NAME[kind.name], name, metadata, namespace)
            self._kube.delete(BY_NAME[kind.name], name, namespace)


def _place(body: Object) -> tuple[str, str]:
    metadata = body["metadata"]
    return metadata["name"], metadata.get("namespace", "")


@contextlib.contextmanager
def tended_domains(kube: Kube) -> Iterator[None]:
    """Bring every ComputeDomain on, in a thread of its own, until this is left."""
    stop, store = threading.Event(), cast(Store, OfServer(kube))

    def run() -> None:
        while not stop.wait(EVERY_SECONDS):
            with contextlib.suppress(KubeError):
                tend_domains(store)

    thread = threading.Thread(target=run, name="tends domains", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
