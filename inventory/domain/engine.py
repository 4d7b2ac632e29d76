"""What the engine is asked and what it answers, as values.

The shapes are those of engine/README.md; `parse` functions take its JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inventory.domain.cel_parts import Parts

Json = dict[str, Any]

MINORS = ("1.34", "1.35", "1.36", "1.37")


@dataclass(frozen=True, slots=True)
class Row:
    """One object as it is at some revision.

    Attributes:
        kind: as in `kind:`; kinds that decide no allocation are ignored.
        namespace: "" for cluster kinds.
        object: it, in its v1 shape, or the JSON text of it; None where it is gone.
    """

    kind: str
    namespace: str
    name: str
    object: Mapping[str, Any] | str | bytes | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at the least revision that an answer may be made from.

    Attributes:
        cluster_id: names the cluster on this host; another database's clusters
            must have other ids.
        rows_since: from a revision to the newest one and the rows changed since,
            tombstones too; after 0 every row that is there.
    """

    cluster_id: str
    revision: int
    rows_since: Callable[[int], tuple[int, Iterable[Row]]]


class Fit(StrEnum):
    """How well the chosen engine fits a server."""

    EXACT = "exact"
    SERVER_IS_NEWER = "server-is-newer"
    SERVER_IS_OLDER = "server-is-older"
    UNKNOWN = "unknown"


def minor_for(server_version: str) -> tuple[str, Fit]:
    """Return the engine's minor for a server's version, and how well it fits.

    Args:
        server_version: such as "1.37.2", "v1.36.1+x" or "1.35"; the newest
            engine serves a newer server, the oldest an older one, and the newest
            one whose version cannot be read.
    """
    found = re.match(r"v?(\d+)\.(\d+)", server_version.strip())
    if not found:
        return MINORS[-1], Fit.UNKNOWN
    wanted = (int(found[1]), int(found[2]))
    known = {_numbers(minor): minor for minor in MINORS}
    if wanted in known:
        return known[wanted], Fit.EXACT
    if wanted > max(known):
        return MINORS[-1], Fit.SERVER_IS_NEWER
    return MINORS[0], Fit.SERVER_IS_OLDER


def _numbers(minor: str) -> tuple[int, int]:
    major, _dot, rest = minor.partition(".")
    return int(major), int(rest)


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """Whose code answered: "1.37", "v0.37.2"; the allocator's name where one ran."""

    minor: str
    library: str
    allocator: str | None = None

    def document(self) -> Json:
        """Return the JSON form that answers and stored plans carry."""
        return {
            "minor": self.minor,
            "library": self.library,
            "allocator": self.allocator,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an expression is accepted.

    Attributes:
        reason: "compile", "cost" or "length"; None where it is accepted.
        line, column: of the first error, from 1, the column in code points;
            None where the compiler names no place.
    """

    ok: bool
    reason: str | None
    error: str | None
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Read:
    """A key that an expression looks at; "*" where only evaluation can tell.

    Attributes:
        map: "attributes" or "capacity".
    """

    map: str
    domain: str
    key: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One expression, judged as when it is written and as when it is used.

    Attributes:
        cost: the API server's estimate; None where it does not compile.
        limit: what the estimate may not exceed.
        length: of the expression, in bytes.
    """

    apiserver: Verdict
    scheduler: Verdict
    cost: int | None
    limit: int
    length: int
    reads: tuple[Read, ...]
    parts: Parts

    @classmethod
    def parse(cls, body: Json) -> Checked:
        """Return one of the results of /v1/cel/check."""
        return cls(
            apiserver=Verdict(**body["apiserver"]),
            scheduler=Verdict(**body["scheduler"]),
            cost=body["cost"],
            limit=body["limit"],
            length=body["length"],
            reads=tuple(Read(**read) for read in body["reads"]),
            parts=Parts.parse(body["parts"]),
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Devices counted by what the expressions say of them."""

    match: int
    no_match: int
    error: int

    @classmethod
    def parse(cls, body: Json) -> Tally:
        """Return the counts of /v1/cel/evaluate."""
        return cls(body["match"], body["noMatch"], body["error"])


@dataclass(frozen=True, slots=True)
class RuntimeFault:
    """An error that `count` devices give, `example` (driver/pool/device) the first.

    Attributes:
        step: of the expression that gave it, as in `Evaluated.steps`.
    """

    message: str
    count: int
    example: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """How many devices came to one expression, and for how many it held."""

    reached: int
    match: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What expressions, all of which must hold, say of a cluster's devices.

    Attributes:
        compile: the scheduler's verdict on each expression, in their order.
        total: devices that took part; None where an expression does not compile,
            and so are `devices` and `nodes`' counts unknown.
        nodes: by name, nodes from which a device is reached.
        matches: driver/pool/device of each match, where they were asked for.
        steps: one for each expression, the class's first; empty where one does
            not compile.
        looks: devices that were evaluated, of those that look alike one.
        micros: what that took in all, in microseconds.
    """

    engine: EngineVersion
    revision: int
    compile: tuple[Verdict, ...]
    total: int | None
    devices: Tally | None
    nodes: dict[str, Tally]
    errors: tuple[RuntimeFault, ...]
    matches: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    looks: int = 0
    micros: float = 0.0

    @classmethod
    def parse(cls, body: Json) -> Evaluated:
        """Return the answer of /v1/cel/evaluate."""
        nodes = body["nodes"] or {}
        return cls(
            engine=EngineVersion(**body["engine"]),
            revision=body["revision"],
            compile=tuple(Verdict(**verdict) for verdict in body["compile"]),
            total=body["total"],
            devices=Tally.parse(body["devices"]) if body["devices"] else None,
            nodes={name: Tally.parse(tally) for name, tally in nodes.items()},
            errors=tuple(RuntimeFault(**fault) for fault in body["errors"]),
            matches=tuple(body["matches"] or ()),
            steps=tuple(Step(**step) for step in body["steps"]),
            looks=body.get("looks", 0),
            micros=body.get("micros", 0.0),
        )


@dataclass(frozen=True, slots=True)
class Traced:
    """Which devices of a class each of some expressions leaves out.

    Attributes:
        reads: of each expression.
        stopped: driver/pool/device by the expression that is the first not to hold,
            in their order; those that match come last. None where one of them does
            not compile.
    """

    reads: tuple[tuple[Read, ...], ...]
    stopped: tuple[tuple[str, ...], ...] | None

    @classmethod
    def parse(cls, body: Json) -> Traced:
        """Return one of the asks of /v1/cel/trace."""
        stopped = body["stopped"]
        return cls(
            tuple(tuple(Read(**r) for r in reads) for reads in body["reads"] or ()),
            None if stopped is None else tuple(tuple(ids or ()) for ids in stopped),
        )


class Outcome(StrEnum):
    """What the allocator says of one node."""

    FITS = "fits"
    NO = "no"
    NODE_ERROR = "node-error"
    ERROR = "error"
    UNDECIDED = "undecided"


_OUTCOMES = {each.value: each for each in Outcome}


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """One node's answer.

    Attributes:
        message: the scheduler's or the library's own words; "" where it fits.
        results: an AllocationResult for each claim, in their order; None where
            the claims do not fit.
        score: raw sum of 8 - i over firstAvailable requests; None where they do
            not fit, and in 1.34.
        crash: how kube-scheduler would end in some order of the node's pools,
            whatever the outcome is in another; "" where none was found.
    """

    outcome: Outcome
    message: str
    results: list[Json] | None
    score: int | None
    crash: str = ""

    @classmethod
    def parse(cls, body: Json) -> NodeAnswer:
        """Return one of the nodes of /v1/allocate."""
        outcome = _OUTCOMES[body["outcome"]]
        crash = body.get("crash", "")
        return cls(outcome, body["message"], body["results"], body["score"], crash)


@dataclass(frozen=True, slots=True)
class Alone:
    """One request asked by itself, on the nodes that the budget left undecided."""

    claim: str
    request: str
    nodes: dict[str, NodeAnswer]


@dataclass(frozen=True, slots=True)
class Allocated:
    """Where one pod's claims fit.

    Attributes:
        micros: what the search took, in microseconds.
        alone: empty unless some node is undecided.
    """

    engine: EngineVersion
    revision: int
    micros: int
    nodes: dict[str, NodeAnswer]
    alone: tuple[Alone, ...]

    @classmethod
    def parse(cls, body: Json) -> Allocated:
        """Return the answer of /v1/allocate."""
        alone = (
            Alone(each["claim"], each["request"], _nodes(each["nodes"]))
            for each in body["alone"] or ()
        )
        return cls(
            engine=EngineVersion(**body["engine"]),
            revision=body["revision"],
            micros=body.get("micros", 0.0),
            nodes=_nodes(body["nodes"]),
            alone=tuple(alone),
        )


def _nodes(body: Json) -> dict[str, NodeAnswer]:
    return {name: NodeAnswer.parse(answer) for name, answer in body.items()}


@dataclass(frozen=True, slots=True)
class Copies:
    """How many copies fit.

    Attributes:
        at_least: more may fit: the budget or the asked maximum ended the count.
        message: why the next one does not fit; "" where that was not seen.
    """

    copies: int
    at_least: bool
    message: str

    @classmethod
    def parse(cls, body: Json) -> Copies:
        """Return one of the counts of /v1/copies."""
        return cls(body["copies"], body["atLeast"], body["message"])


@dataclass(frozen=True, slots=True)
class Counted:
    """How many copies of one pod's claims fit, on each node and on all together.

    Attributes:
        placed: of each copy of all together, an AllocationResult for each claim.
    """

    engine: EngineVersion
    revision: int
    nodes: dict[str, Copies]
    together: Copies
    placed: tuple[list[Json], ...] = ()

    @classmethod
    def parse(cls, body: Json) -> Counted:
        """Return the answer of /v1/copies."""
        nodes = {name: Copies.parse(copies) for name, copies in body["nodes"].items()}
        together = Copies.parse(body["together"])
        engine = EngineVersion(**body["engine"])
        placed = tuple(each["results"] for each in body.get("placed") or ())
        return cls(engine, body["revision"], nodes, together, placed)
