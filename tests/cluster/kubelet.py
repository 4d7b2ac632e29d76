"""What a kubelet does at the end of a pod, for nodes that have none.

A pod that is bound to a node is only marked when it is deleted: its kubelet ends the
containers and then takes it away. Here there are no containers, so it goes at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import httpx

from tests.cluster.client import Client, Refused

EVERY_SECONDS = 0.25


@contextlib.contextmanager
def ending_pods(client: Client) -> Iterator[None]:
    """Take away, in a thread of its own, every bound pod that was deleted."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(EVERY_SECONDS):
            with contextlib.suppress(Refused, httpx.TransportError):
                end_deleted_pods(client)

    thread = threading.Thread(target=run, name="ends pods", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        client.close()


def end_deleted_pods(client: Client) -> None:
    """Take away every bound pod that was deleted before now."""
    for pod in client.list("Pod")["items"]:
        if "deletionTimestamp" in pod["metadata"] and pod["spec"].get("nodeName"):
            precondition = {"uid": pod["metadata"]["uid"]}
            options = {"gracePeriodSeconds": 0, "preconditions": precondition}
            with contextlib.suppress(Refused):
                client.delete({"kind": "Pod", **pod}, options)
