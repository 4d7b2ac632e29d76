"""Fields that a cluster would drop or refuse, since a feature gate is off there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.domain.gates import known_since, on_since
from inventory.services.engines import gates_of

if TYPE_CHECKING:
    from inventory.models import Cluster

# Part of the form → the gate that its fields hang on.
_GATES = {
    "capacity": "DRAConsumableCapacity",
    "distinct": "DRAConsumableCapacity",
    "tolerations": "DRADeviceTaints",
    "admin": "DRAAdminAccess",
    "list": "DRAPrioritizedList",
    "derived": "DRADerivedAttributes",
}


def switched_off(cluster: Cluster) -> dict[str, str]:
    """Return part of the form → why it is of no use here; nothing for the others."""
    on = set(gates_of(cluster))
    return {
        part: _sentence(gate, cluster)
        for part, gate in _GATES.items()
        if gate not in on
    }


def _sentence(gate: str, cluster: Cluster) -> str:
    on, known = on_since(gate), known_since(gate)
    values = {
        "version": cluster.kubernetes_version or _("version unknown"),
        "minor": on or known,
        "gate": gate,
    }
    if on is None:
        return (
            _(
                "Off in this cluster (%(version)s): Kubernetes has it from 1.%(minor)s,"
                " only where the gate %(gate)s was turned on."
            )
            % values
        )
    return (
        _(
            "Off in this cluster (%(version)s): Kubernetes has it on from 1.%(minor)s,"
            " by the gate %(gate)s."
        )
        % values
    )
