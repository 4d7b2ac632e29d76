"""Moves that would free a larger piece of a card, each proven by the engine.

A move is proven when the engine gives the piece and the moved claim their devices
at once on the snapshot without the claim, and does not give the piece now. All
proofs share one budget; what was not proven is not shown, what was not looked at
is counted.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from claims.domain.defaulting import defaulted_claim
from claims.domain.why.moves import by_kind, candidates_among, places_for
from claims.domain.why.piece import marked, piece_claim
from claims.services.counterfactual import within
from claims.services.explaining import ground_of
from inventory.domain.engine import Outcome, Row
from inventory.domain.parse import parse_allocations
from inventory.queries.cards import fleet_of
from inventory.services.engines import async_engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claims.domain.checks.world import World
    from claims.domain.why.moves import Candidate, Found, Larger
    from inventory.domain.engine import NodeAnswer
    from inventory.domain.occupancy import Occupancy
    from inventory.gateways.engine import AsyncEngine
    from inventory.models import Cluster

Json = dict[str, Any]

BUDGET_SECONDS = 4.0
PROOF_SECONDS = 0.5
AT_ONCE = 3
MOST_SHOWN_OF_PIECE = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Devices of a node, as `pool/device`; the node is "" where it is not one alone."""

    node: str
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A claim to be moved, and what that frees.

    Attributes:
        claim: namespace and name.
        pods: how many pods use it, which would have to start anew.
        piece: what can be had then; `size` in bytes.
        device: where it was found, as `pool/device`.
        source, target: where the claim is, and where it would be.
    """

    candidate: Candidate
    claim: tuple[str, str]
    pods: int
    piece: Larger
    device: str
    source: Place
    target: Place


@dataclass(frozen=True, slots=True)
class KindNow:
    """What cards of one kind give now: bytes of the largest piece, None if unknown."""

    product: str
    kind: str
    largest: int | None


@dataclass(frozen=True, slots=True)
class Moves:
    """Proven moves, and how many claims were not looked at.

    Attributes:
        kinds: of cards, each with what it gives now.
    """

    revision: int
    moves: tuple[Move, ...]
    not_looked_at: int
    kinds: tuple[KindNow, ...]


@dataclass(frozen=True, slots=True)
class _Looked:
    """A candidate that was looked at, and what came of it."""

    move: Move | None


async def amoves(cluster: Cluster, *, budget: float = BUDGET_SECONDS) -> Moves:
    """Return the moves that would free a piece larger than any of its kind now.

    For each kind of card and profile the three that move the least memory.

    Args:
        cluster: as it now is in the database.
        budget: seconds for all proofs.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    occupancies, found, world = await sync_to_async(_looked_for)(cluster)
    kinds = tuple(_kinds(occupancies))
    if not found.candidates:
        return Moves(cluster.revision, (), found.more, kinds)
    engine = async_engine_for(cluster)
    await engine.evaluate(["true"])  # It is there, and filled, before time runs.
    ends = time.monotonic() + budget
    prover = _Prover(engine, world, occupancies, ends)
    looked = await within([prover.looked(each) for each in found.candidates], ends)
    missed = len(found.candidates) - len(looked)
    moves = _chosen([each.move for each in looked if each.move])
    return Moves(cluster.revision, moves, found.more + missed, kinds)


def _looked_for(cluster: Cluster) -> tuple[list[Occupancy], Found, World]:
    occupancies = fleet_of(cluster).occupancies
    return occupancies, candidates_among(occupancies), ground_of(cluster).world


def _kinds(occupancies: Sequence[Occupancy]) -> Iterator[KindNow]:
    for (product, kind), cards in by_kind(occupancies).items():
        sizes = [each.largest for each in cards if each.largest is not None]
        yield KindNow(product, kind, max(sizes, default=None))


def _chosen(moves: Sequence[Move]) -> tuple[Move, ...]:
    """Return the largest pieces first, of each the moves of the least memory."""

    def rank(move: Move) -> tuple[Any, ...]:
        moved = move.candidate.moved
        card = move.candidate.card
        size = -move.piece.size
        return size, card.product, card.kind, moved is None, moved or 0, move.claim

    kept: dict[tuple[str, str, str], list[Move]] = defaultdict(list)
    for move in sorted(moves, key=rank):
        card = move.candidate.card
        kept[card.product, card.kind, move.piece.name].append(move)
    return tuple(each for of in kept.values() for each in of[:MOST_SHOWN_OF_PIECE])


class _Undecided(PortalError):
    """A search took too long: the candidate counts as not looked at."""

    code = "moves.undecided"


class _Prover:
    """Asks the engine about moves, a few at a time."""

    def __init__(
        self,
        engine: AsyncEngine,
        world: World,
        occupancies: list[Occupancy],
        ends: float,
    ) -> None:
        self.engine, self.world, self.occupancies = engine, world, occupancies
        self.ends = ends
        self.turn = asyncio.Semaphore(AT_ONCE)

    async def looked(self, candidate: Candidate) -> _Looked | None:
        """Return the move of the largest piece that is proven; None as time ends."""
        claim = self.world.find("ResourceClaim", *candidate.claim)
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            return _Looked(None)  # It is gone, or goes by itself.
        async with self.turn:
            for larger in candidate.pieces:
                if time.monotonic() >= self.ends:
                    return None
                move = await self._move(candidate, claim, larger)
                if move is not None:
                    return _Looked(move)
        return _Looked(None)

    async def _move(
        self, candidate: Candidate, claim: Json, larger: Larger
    ) -> Move | None:
        ids = ["/".join(part.key) for part in larger.parts]
        rows = marked(ids, self.world)
        piece = piece_claim(larger, self.world)
        home = [candidate.card.node] if candidate.card.node else None
        if await self._given(rows, [piece], home):
            return None  # It can be had now: nothing would be freed.
        gone = Row("ResourceClaim", *candidate.claim, None)
        given = await self._both([*rows, gone], piece, _anew(claim), candidate)
        if given is None:
            return None
        node, got, again = given
        values = parse_allocations(claim)
        reserved = (claim.get("status") or {}).get("reservedFor") or []
        return Move(
            candidate=candidate,
            claim=candidate.claim,
            pods=sum(each.get("resource") == "pods" for each in reserved),
            piece=larger,
            device=_devices(got)[0],
            source=Place(
                candidate.card.node, tuple(f"{v.pool}/{v.device}" for v in values)
            ),
            target=Place(node, _devices(again)),
        )

    async def _both(
        self, rows: list[Row], piece: Json, anew: Json, candidate: Candidate
    ) -> tuple[str, Json, Json] | None:
        """Return where the claim goes, what gives the piece and what the claim gets.

        On the piece's own node both are searched for at once; elsewhere nothing of
        the piece is in the way.
        """
        node = candidate.card.node
        if node and (found := await self._given(rows, [piece, anew], [node])):
            got, again = found[node].results or [{}, {}]
            return node, got, again
        alone = await self._given(rows, [piece], [node] if node else None)
        if not alone:
            return None
        got = (next(iter(alone.values())).results or [{}])[0]
        taken = Row(
            "ResourceClaim",
            piece["metadata"]["namespace"],
            piece["metadata"]["name"],
            {**piece, "status": {"allocation": got}},
        )
        others = places_for(candidate, self.occupancies)
        if not others:
            return None
        found = await self._given([*rows, taken], [anew], others)
        first = next((each for each in others if each in found), None)
        return (first, got, (found[first].results or [{}])[0]) if first else None

    async def _given(
        self, rows: list[Row], claims: list[Json], nodes: list[str] | None
    ) -> dict[str, NodeAnswer]:
        """Return the nodes that give the claims of one pod their devices."""
        known = None if nodes is None else [n for n in nodes if self._is_node(n)]
        if known == []:
            return {}
        left = max(0.05, min(PROOF_SECONDS, self.ends - time.monotonic()))
        answer = await self.engine.on(rows).allocate(claims, nodes=known, budget=left)
        found = {n: a for n, a in answer.nodes.items() if a.outcome == Outcome.FITS}
        if not found and any(
            each.outcome == Outcome.UNDECIDED for each in answer.nodes.values()
        ):
            raise _Undecided("")
        return found

    def _is_node(self, name: str) -> bool:
        return self.world.find("Node", "", name) is not None


def _anew(claim: Json) -> Json:
    """Return the claim as it would be made again, without what it holds."""
    made = {key: value for key, value in claim.items() if key != "status"}
    kept = {"name", "namespace", "uid", "labels", "annotations"}
    metadata = {k: v for k, v in claim["metadata"].items() if k in kept}
    return defaulted_claim({**made, "metadata": metadata})


def _devices(allocation: Json) -> tuple[str, ...]:
    held = parse_allocations({"status": {"allocation": allocation}})
    return tuple(f"{value.pool}/{value.device}" for value in held)
