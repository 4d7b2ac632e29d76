"""Which feature gates an API server says are on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.domain.gates import gates_in_metrics
from inventory.gateways.errors import KubeError
from inventory.gateways.transport import Call, answering, send

if TYPE_CHECKING:
    from inventory.gateways.kube import Kube

METRICS_SECONDS = 20


def feature_gates(kube: Kube) -> dict[str, bool] | None:
    """Return the gates of Dynamic Resource Allocation by name; None if unknown.

    Unknown they are where the identity may not read /metrics (`deploy/rbac.yaml`
    lets it), where there is none, or where it does not speak of gates.
    """
    wanted = Call("GET", "/metrics", seconds=METRICS_SECONDS)
    try:
        response = send(kube.connection, wanted, kube.identity.headers())
        with answering(kube.connection):
            text = response.response.data
    except KubeError:
        return None
    return gates_in_metrics(text.decode(errors="replace")) or None
