"""Where Kubernetes' own code is asked: expressions when written, claims when placed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from inventory.domain.engine import NodeAnswer, Row, Snapshot, minor_for
from inventory.domain.gates import enabled_gates
from inventory.gateways.engine import Engine as Client
from inventory.gateways.engine_process import EngineProcess
from simcluster.kinds import CLAIM, CLASS, NAMESPACE, NODE, SLICE, TAINT_RULE, Object
from simcluster.refusals import Refusal
from simcluster.storage import Store
from simcluster.validation import Verdict

DECISIVE = (CLASS, SLICE, TAINT_RULE, NODE, CLAIM)
_KINDS = {kind.resource: kind for kind in DECISIVE}
_HERE = Path.home() / ".cache" / "slicewise" / "run"


class Engine:
    """The engine of the cluster's version; it starts when first asked."""

    def __init__(self, store: Store, version: str, run_dir: Path | None) -> None:
        """Take the store that allocation looks at, and where the engine's socket lies."""
        self._store = store
        self._gates = tuple(enabled_gates(version, {}))
        minor, _ = minor_for(version)
        self._process = EngineProcess(minor, run_dir or _HERE, idle="2m")

    def has(self, gate: str) -> bool:
        """Return whether a feature gate of the cluster's version is on."""
        return gate in self._gates

    async def judge(self, expressions: list[str]) -> list[Verdict]:
        """Return what the API server's compiler says of expressions."""
        client = Client(self._process, gates=self._gates)
        try:
            found = await asyncio.to_thread(client.check, expressions)
        except Exception as error:
            text = "the engine that compiles expressions does not answer; see its log"
            raise Refusal(500, "InternalError", text) from error
        verdicts = [each.apiserver for each in found]
        return [
            Verdict(
                each.reason or "",
                _error(expression, each.error, each.line, each.column),
            )
            for expression, each in zip(expressions, verdicts, strict=True)
        ]

    async def allocate(
        self, claims: list[Object], nodes: list[str]
    ) -> dict[str, NodeAnswer]:
        """Return what the allocator says of a pod's claims on each node."""
        uid = (self._store.get(NAMESPACE, "kube-system") or {})["metadata"]["uid"]
        name = f"simulated-{uid}-{self._store.floor}"
        snapshot = Snapshot(name, self._store.version, self._rows_since)
        client = Client(self._process, snapshot, self._gates)
        answer = await asyncio.to_thread(client.allocate, claims, nodes=nodes)
        return answer.nodes

    def _rows_since(self, version: int) -> tuple[int, list[Row]]:
        newest = self._store.version
        return newest, list(self._rows(version))

    def _rows(self, version: int) -> Iterator[Row]:
        if version < self._store.floor:
            for kind in DECISIVE:
                for body in self._store.items(kind):
                    metadata = body["metadata"]
                    yield Row(
                        kind.name, metadata.get("namespace", ""), metadata["name"], body
                    )
            return
        for change in self._store.since(version):
            if decisive := _KINDS.get(change.resource):
                left = None if change.type == "DELETED" else change.body
                yield Row(decisive.name, *change.key, left)


def _error(
    expression: str, text: str | None, line: int | None, column: int | None
) -> str:
    """Return a compiler's error with the marks that an API server's message has."""
    if line is None or column is None:
        return text or ""
    shown = expression.splitlines()[line - 1 : line] or [""]
    marks = f" | {shown[0]}\n | {'.' * (column - 1)}^"
    return f"compilation failed: ERROR: <input>:{line}:{column}: {text}\n{marks}"
