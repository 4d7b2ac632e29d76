"""Seal events into the chain, and check the chain against the events.

Events are written by triggers in the transactions that make the changes; a chain
kept there would make all of them wait for each other. So they are sealed a moment
later, by one process at a time (an advisory lock).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import connection, transaction
from pghistory.models import Event
from psycopg import sql

from portal.audit.domain.chain import (
    GENESIS,
    Fault,
    Sealed,
    chain_faults,
    changes_between,
    event_fault,
    is_routine,
)
from portal.audit.models import Seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import Model

Json = dict[str, Any]

LOCK = 0x51CE_5EA1
BATCH = 1000
# A transaction that began before others may commit after them, with lower ids.
OVERLAP = 10_000

_UNSEALED = sql.SQL("""
    SELECT e.pgh_id, e.pgh_obj_id, e.pgh_created_at, row_to_json(e)::text,
           c.metadata::text
    FROM {table} e LEFT JOIN pghistory_context c ON c.id = e.pgh_context_id
    WHERE e.pgh_id > %s AND NOT EXISTS (
        SELECT 1 FROM audit_seal s WHERE s."table" = %s AND s.event_id = e.pgh_id)
    ORDER BY e.pgh_id LIMIT %s
""")
_EVENTS = sql.SQL("""
    SELECT e.pgh_id, row_to_json(e)::text, c.metadata::text
    FROM {table} e LEFT JOIN pghistory_context c ON c.id = e.pgh_context_id
    WHERE e.pgh_id = ANY(%s)
""")
_COUNT = sql.SQL("""
    SELECT count(*) FROM {table} e WHERE e.pgh_created_at < now() - interval '1 minute'
    AND NOT EXISTS (
        SELECT 1 FROM audit_seal s WHERE s."table" = %s AND s.event_id = e.pgh_id)
""")


@dataclass(frozen=True)
class Verified:
    """What a check of the whole chain found.

    Attributes:
        head: digest of the newest seal; keep it elsewhere, and a later check with
            it shows whether the end of the chain was cut off and written anew.
    """

    seals: int
    head: str
    faults: tuple[Fault, ...]


def event_models() -> dict[str, type[Model]]:
    """Return the event tables of all tracked models, by `app.Model`."""
    found = [m for m in apps.get_models() if issubclass(m, Event) and m is not Event]
    tables = [m for m in found if m._meta.managed]
    return {m._meta.label: m for m in sorted(tables, key=lambda m: m._meta.label)}


def seal() -> int:
    """Seal every event that is not sealed yet; return how many were."""
    total = 0
    while (sealed := _seal_some()) > 0:
        total += sealed
    return total


@transaction.atomic
def _seal_some() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    last = Seal.objects.order_by("-number").first()
    number, previous = (last.number, last.digest) if last else (0, GENESIS)
    rows: list[Seal] = []
    for label, model in event_models().items():
        for row in _unsealed(label, model):
            sealed = _sealed(label, row, number + 1, previous, rows)
            number, previous = sealed.number, sealed.digest
            rows.append(_row(sealed))
    Seal.objects.bulk_create(rows)
    return len(rows)


def _unsealed(label: str, model: type[Model]) -> list[tuple[Any, ...]]:
    newest = (
        Seal.objects.filter(table=label)
        .order_by("-event_id")
        .values_list("event_id", flat=True)
        .first()
    )
    with connection.cursor() as cursor:
        cursor.execute(_of(_UNSEALED, model), [(newest or 0) - OVERLAP, label, BATCH])
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _of(statement: sql.SQL, model: type[Model]) -> str:
    table = sql.Identifier(model._meta.db_table)
    return statement.format(table=table).as_string(None)


def _sealed(
    label: str, row: tuple[Any, ...], number: int, previous: str, made: list[Seal]
) -> Sealed:
    event_id, object_id, at, event_text, context_text = row
    event, context = json.loads(event_text), json.loads(context_text or "{}")
    before = _before(label, object_id, made)
    changes = changes_between(before, event)
    return Sealed(
        number=number,
        table=label,
        event_id=event_id,
        object_id=object_id,
        at=_iso(at),
        actor=str(context.get("actor", "")),
        reason=str(context.get("reason", "")),
        request_id=str(context.get("request_id", "")),
        content={"event": event, "context": context},
        changes=changes,
        is_routine=is_routine(before, changes),
        previous=previous,
    )


def _before(label: str, object_id: int, made: list[Seal]) -> Json | None:
    """Return the object's event before, from this batch or from the chain."""
    for row in reversed(made):
        if (row.table, row.object_id) == (label, object_id):
            return row.content["event"]  # type: ignore[no-any-return]
    earlier = Seal.objects.filter(table=label, object_id=object_id)
    content = earlier.order_by("-number").values_list("content", flat=True).first()
    return content["event"] if content else None


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _row(sealed: Sealed) -> Seal:
    values = asdict(sealed)
    at = datetime.fromisoformat(values.pop("at"))
    return Seal(**values, at=at, digest=sealed.digest)


def _value(row: Seal) -> Sealed:
    names = Sealed.__dataclass_fields__
    values = {name: getattr(row, name) for name in names if name != "at"}
    return Sealed(**values, at=_iso(row.at))


def verify(*, head: str = "") -> Verified:
    """Check every seal and the event that it is of; changes nothing.

    Args:
        head: a digest that an earlier check gave, which must still be there.
    """
    faults: list[Fault] = []
    state = {"count": 0, "last": GENESIS, "has_head": not head}

    def pairs() -> Iterator[tuple[Sealed, str]]:
        for batch in _batches():
            values = [(_value(row), row.digest) for row in batch]
            faults.extend(_event_faults([seal for seal, _digest in values]))
            for seal, digest in values:
                state["count"] = seal.number
                state["last"] = digest
                state["has_head"] = state["has_head"] or digest == head
                yield seal, digest

    faults.extend(chain_faults(pairs()))
    if not state["has_head"]:
        faults.append(Fault("head", 0, head))
    faults.extend(_unsealed_faults())
    faults.sort(key=lambda fault: fault.number)
    return Verified(Seal.objects.count(), str(state["last"]), tuple(faults))


def _batches() -> Iterator[list[Seal]]:
    after = 0
    while rows := list(
        Seal.objects.filter(number__gt=after).order_by("number")[:BATCH]
    ):
        yield rows
        after = rows[-1].number


def _event_faults(seals: list[Sealed]) -> Iterator[Fault]:
    models = event_models()
    for label in sorted({seal.table for seal in seals}):
        mine = [seal for seal in seals if seal.table == label]
        found: dict[int, tuple[Json, Json]] = {}
        if label in models:
            with connection.cursor() as cursor:
                ids = [seal.event_id for seal in mine]
                cursor.execute(_of(_EVENTS, models[label]), [ids])
                found = {
                    key: (json.loads(event), json.loads(context or "{}"))
                    for key, event, context in cursor.fetchall()
                }
        for seal in mine:
            event, context = found.get(seal.event_id, (None, None))
            if fault := event_fault(seal, event, context):
                yield fault


def _unsealed_faults() -> Iterator[Fault]:
    for label, model in event_models().items():
        with connection.cursor() as cursor:
            cursor.execute(_of(_COUNT, model), [label])
            count = cursor.fetchone()[0]
        if count:
            yield Fault("unsealed", 0, f"{label}: {count}")
