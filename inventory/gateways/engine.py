"""The one client of the engine, for threads (`Engine`) and for coroutines.

A request names a cluster and the least revision. When the engine is behind, the
client sends it the rows that it lacks, one sender at a time for a host and a
cluster, and asks once more. When nobody answers, the engine is started and asked
once more. Every call has a deadline; a coroutine that is cancelled closes its
connection, which stops the search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import httpx
from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from inventory.domain.engine import (
    Allocated,
    Checked,
    Counted,
    Evaluated,
    Outcome,
    Traced,
)
from inventory.gateways.engine_process import EngineProcess, EngineUnavailable
from inventory.gateways.engine_wire import (
    FILL_SECONDS,
    Call,
    EngineDeadline,
    EngineRefused,
    Reply,
    asked,
    checked,
    exchange,
    exchange_async,
    one_sender,
    row_body,
)

if TYPE_CHECKING:
    from inventory.domain.engine import Row, Snapshot

__all__ = [
    "AsyncEngine",
    "Engine",
    "EngineDeadline",
    "EngineRefused",
    "EngineUnavailable",
]

Json = dict[str, Any]
# (of a class, of a request)
Selectors = tuple[Sequence[str], Sequence[str]]
Result = TypeVar("Result")

CHECK_SECONDS = 5.0
EVALUATE_SECONDS = 10.0
BUDGET_SECONDS = 2.0
# What one node may take, as kube-scheduler's filter time-out.
LIMIT_SECONDS = 10.0
# The engine adds an eighth of the budget for requests alone; the rest is transport.
SLACK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class _Fill:
    """Rows to be sent: the engine is behind the snapshot."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class _Start:
    """An engine to be started: nobody answers, or one of an older release does."""

    anew: bool = False


_Steps = Generator["Call | _Fill | _Start", "Reply", Result]


@dataclass(frozen=True, slots=True)
class _Questions:
    """What both clients share: everything but who carries a call."""

    process: EngineProcess
    snapshot: Snapshot | None = None
    gates: tuple[str, ...] = ()
    overlay: tuple[Row, ...] = ()

    def _scope(self) -> Json:
        snapshot = self.snapshot
        return {
            "cluster": snapshot.cluster_id if snapshot else "",
            "revision": snapshot.revision if snapshot else 0,
            "overlay": [row_body(row) for row in self.overlay],
            "gates": list(self.gates),
        }

    def _check(self, expressions: Sequence[str]) -> _Steps[list[Checked]]:
        body = {"gates": list(self.gates), "expressions": list(expressions)}
        answer = yield from self._ask("/v1/cel/check", body, CHECK_SECONDS)
        if any("parts" not in result for result in answer["results"]):
            yield _Start(anew=True)
            answer = yield from self._ask("/v1/cel/check", body, CHECK_SECONDS)
        return [Checked.parse(result) for result in answer["results"]]

    def _evaluate(
        self,
        expressions: Sequence[str],
        within: Sequence[str],
        *,
        listing: bool,
        measuring: bool,
    ) -> _Steps[Evaluated]:
        body = self._scope() | {
            "expressions": list(expressions),
            "within": list(within),
            "list": listing,
            "measure": measuring,
            "limitMillis": int(EVALUATE_SECONDS * 1000),
        }
        seconds = EVALUATE_SECONDS + SLACK_SECONDS
        answer = yield from self._ask("/v1/cel/evaluate", body, seconds)
        if "steps" not in answer:
            yield _Start(anew=True)
            answer = yield from self._ask("/v1/cel/evaluate", body, seconds)
        return Evaluated.parse(answer)

    def _trace(
        self, asks: Sequence[Selectors], nodes: Sequence[str] | None
    ) -> _Steps[list[Traced]]:
        body = self._scope() | {
            "asks": [
                {"within": list(within), "expressions": list(expressions)}
                for within, expressions in asks
            ],
            "nodes": None if nodes is None else list(nodes),
            "limitMillis": int(EVALUATE_SECONDS * 1000),
        }
        seconds = EVALUATE_SECONDS + SLACK_SECONDS
        answer = yield from self._ask("/v1/cel/trace", body, seconds)
        return [Traced.parse(ask) for ask in answer["asks"]]

    def _allocate(
        self,
        claims: Sequence[Json],
        nodes: Sequence[str] | None,
        budget: float,
    ) -> _Steps[Allocated]:
        body = self._search(claims, nodes, budget)
        seconds = budget * 1.125 + SLACK_SECONDS
        return Allocated.parse((yield from self._ask("/v1/allocate", body, seconds)))

    def _outcomes(
        self, claims: Sequence[Json], nodes: Sequence[str], budget: float
    ) -> _Steps[dict[str, Outcome]]:
        body = self._search(claims, nodes, budget)
        answer = yield from self._ask("/v1/outcomes", body, budget + SLACK_SECONDS)
        return {
            name: Outcome(outcome)
            for outcome, names in answer["outcomes"].items()
            for name in names
        }

    def _copies(
        self,
        claims: Sequence[Json],
        nodes: Sequence[str] | None,
        most: int,
        budget: float,
    ) -> _Steps[Counted]:
        body = self._search(claims, nodes, budget) | {"max": most}
        seconds = budget + SLACK_SECONDS
        return Counted.parse((yield from self._ask("/v1/copies", body, seconds)))

    def _search(
        self, claims: Sequence[Json], nodes: Sequence[str] | None, budget: float
    ) -> Json:
        return self._scope() | {
            "claims": list(claims),
            "nodes": None if nodes is None else list(nodes),
            "budgetMillis": int(budget * 1000),
            "limitMillis": int(LIMIT_SECONDS * 1000),
        }

    def _ask(self, path: str, body: Json, seconds: float) -> _Steps[Json]:
        """Ask, start an engine that is not there or too old, fill one that is behind."""
        reply = yield Call("POST", path, body, seconds)
        unknown = reply.status == httpx.codes.NOT_FOUND and _code(reply) == "path"
        if reply.status == 0 or unknown:
            yield _Start(anew=unknown)
            reply = yield Call("POST", path, body, seconds)
        if reply.status == httpx.codes.CONFLICT and self.snapshot is not None:
            yield _Fill(self.snapshot)
            reply = yield Call("POST", path, body, seconds)
        return checked(reply)

    def _send_rows(self, snapshot: Snapshot) -> None:
        """Send what the engine lacks of a snapshot; waits for another sender."""
        path = f"/v1/clusters/{quote(snapshot.cluster_id, safe='')}"
        with one_sender(self.process, snapshot.cluster_id):
            for _attempt in range(3):
                reply = exchange(self.process, Call("GET", path, None, CHECK_SECONDS))
                have = int(reply.body.get("revision", 0)) if reply.status == 200 else 0
                if have >= snapshot.revision:
                    return
                revision, rows = snapshot.rows_since(have)
                sent = [row_body(row) for row in rows]
                body: Json = {"from": have, "revision": revision, "rows": sent}
                call = Call("POST", f"{path}/rows", body, FILL_SECONDS)
                reply = exchange(self.process, call)
                if reply.status != httpx.codes.CONFLICT:
                    checked(reply)
        raise EngineUnavailable(
            _("The engine cannot be brought to revision %(revision)d; try again.")
            % {"revision": snapshot.revision}
        )


def _code(reply: Reply) -> str:
    return str(reply.body.get("code", ""))


class Engine(_Questions):
    """The engine for threads; its connections are shared by a process."""

    __slots__ = ()

    def on(self, overlay: Sequence[Row]) -> Engine:
        """Return the engine asked about the snapshot with other rows laid over it."""
        return replace(self, overlay=tuple(overlay))

    def check(self, expressions: Sequence[str]) -> list[Checked]:
        """Judge expressions as the API server and as the scheduler do.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        return self._carry(self._check(expressions))

    def evaluate(
        self,
        expressions: Sequence[str],
        *,
        within: Sequence[str] = (),
        listing: bool = False,
        measuring: bool = False,
    ) -> Evaluated:
        """Count the devices for which all expressions hold.

        Args:
            expressions: selectors, which all must hold.
            within: only devices for which these hold take part, as a class's.
            listing: name the devices that match, too.
            measuring: time the evaluation well, which takes some milliseconds.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        return self._carry(
            self._evaluate(expressions, within, listing=listing, measuring=measuring)
        )

    def trace(
        self, asks: Sequence[Selectors], *, nodes: Sequence[str] | None = None
    ) -> list[Traced]:
        """Name the devices that each expression leaves out.

        Args:
            asks: the selectors of a class and those of a request, for each ask.
            nodes: names; slices of other single nodes are left out. None for all.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        return self._carry(self._trace(asks, nodes))

    def allocate(
        self,
        claims: Sequence[Json],
        *,
        nodes: Sequence[str] | None = None,
        budget: float = BUDGET_SECONDS,
    ) -> Allocated:
        """Say where the claims of one pod fit.

        Args:
            claims: ResourceClaims in their v1 shape.
            nodes: names; None for all nodes of the snapshot.
            budget: seconds for the search over all nodes.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        return self._carry(self._allocate(claims, nodes, budget))

    def copies(
        self,
        claims: Sequence[Json],
        *,
        nodes: Sequence[str] | None = None,
        most: int = 100,
        budget: float = BUDGET_SECONDS,
    ) -> Counted:
        """Count how many copies of the claims of one pod fit; arguments as above.

        Raises:
            EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
        """
        return self._carry(self._copies(claims, nodes, most, budget))

    def _carry(self, steps: _Steps[Result]) -> Result:
        reply = Reply(0, {})
        try:
            step = next(steps)
            while True:
                match step:
                    case Call():
                        reply = asked(self.process, step)
                    case _Fill():
                        self._send_rows(step.snapshot)
                    case _Start():
                        self.process.ensure(anew=step.anew)
                step = steps.send(reply)
        except StopIteration as stop:
            result: Result = stop.value
            return result


class AsyncEngine(_Questions):
    """The engine for coroutines; a call has a connection of its own.

    Connections belong to an event loop, and a local socket costs a tenth of a
    millisecond, so they are not pooled. Rows are read and sent in a thread.
    """

    __slots__ = ()

    def on(self, overlay: Sequence[Row]) -> AsyncEngine:
        """Return the engine asked about the snapshot with other rows laid over it."""
        return replace(self, overlay=tuple(overlay))

    async def check(self, expressions: Sequence[str]) -> list[Checked]:
        """See `Engine.check`."""
        return await self._carry(self._check(expressions))

    async def evaluate(
        self,
        expressions: Sequence[str],
        *,
        within: Sequence[str] = (),
        listing: bool = False,
        measuring: bool = False,
    ) -> Evaluated:
        """See `Engine.evaluate`."""
        return await self._carry(
            self._evaluate(expressions, within, listing=listing, measuring=measuring)
        )

    async def trace(
        self, asks: Sequence[Selectors], *, nodes: Sequence[str] | None = None
    ) -> list[Traced]:
        """See `Engine.trace`."""
        return await self._carry(self._trace(asks, nodes))

    async def allocate(
        self,
        claims: Sequence[Json],
        *,
        nodes: Sequence[str] | None = None,
        budget: float = BUDGET_SECONDS,
    ) -> Allocated:
        """See `Engine.allocate`."""
        return await self._carry(self._allocate(claims, nodes, budget))

    async def outcomes(
        self,
        claims: Sequence[Json],
        *,
        nodes: Sequence[str],
        budget: float = BUDGET_SECONDS,
    ) -> dict[str, Outcome]:
        """Say of some nodes whether the claims of one pod fit, without the devices.

        Arguments and errors as for `Engine.allocate`.
        """
        return await self._carry(self._outcomes(claims, nodes, budget))

    async def copies(
        self,
        claims: Sequence[Json],
        *,
        nodes: Sequence[str] | None = None,
        most: int = 100,
        budget: float = BUDGET_SECONDS,
    ) -> Counted:
        """See `Engine.copies`."""
        return await self._carry(self._copies(claims, nodes, most, budget))

    async def _carry(self, steps: _Steps[Result]) -> Result:
        reply = Reply(0, {})
        try:
            step = next(steps)
            while True:
                match step:
                    case Call():
                        reply = await exchange_async(self.process, step)
                    case _Fill():
                        await sync_to_async(self._send_rows)(step.snapshot)
                    case _Start():
                        await asyncio.to_thread(self.process.ensure, anew=step.anew)
                step = steps.send(reply)
        except StopIteration as stop:
            result: Result = stop.value
            return result
