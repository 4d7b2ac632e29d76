"""The engine that answers for a cluster: of its minor, with its gates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from inventory.domain.engine import Row, minor_for
from inventory.domain.gates import enabled_gates
from inventory.gateways.engine import AsyncEngine, Engine
from inventory.gateways.engine_process import EngineProcess
from inventory.queries.snapshot import snapshot_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from inventory.models import Cluster


def engine_for(cluster: Cluster, *, overlay: Iterable[dict[str, Any]] = ()) -> Engine:
    """Return the engine, asked about the cluster as it now is in the database.

    Args:
        cluster: its `revision` is the least that answers may be made from.
        overlay: objects in v1 shape that stand over the cluster's own.
    """
    return Engine(
        process=_process(cluster),
        snapshot=snapshot_of(cluster),
        gates=gates_of(cluster),
        overlay=tuple(map(row_of, overlay)),
    )


def async_engine_for(
    cluster: Cluster, *, overlay: Iterable[dict[str, Any]] = ()
) -> AsyncEngine:
    """Return the same engine for coroutines; arguments as for `engine_for`."""
    return AsyncEngine(
        process=_process(cluster),
        snapshot=snapshot_of(cluster),
        gates=gates_of(cluster),
        overlay=tuple(map(row_of, overlay)),
    )


def gates_of(cluster: Cluster) -> tuple[str, ...]:
    """Return the feature gates that are on in a cluster, sorted."""
    return tuple(enabled_gates(cluster.kubernetes_version, cluster.feature_gates))


def row_of(body: dict[str, Any]) -> Row:
    """Return an object as a row of an overlay."""
    metadata = body.get("metadata") or {}
    namespace = str(metadata.get("namespace") or "")
    return Row(str(body["kind"]), namespace, str(metadata.get("name", "")), body)


def _process(cluster: Cluster) -> EngineProcess:
    minor, _fit = minor_for(cluster.kubernetes_version)
    return EngineProcess(
        minor,
        Path(settings.SLICEWISE_RUN_DIR),
        external=settings.SLICEWISE_ENGINES_EXTERNAL,
    )
