"""Pages that stay right while rows come and go: each begins behind a row's key.

A cursor is the key of the last row that was shown, opaque to whoever carries it.
The comparison is of whole rows, `(a, b) > (x, y)`, so that an index over a and b
leads to a late page as fast as to the first.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson
from django.db.models import BooleanField, Expression, F, Func, Value
from django.utils.translation import gettext as _

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

Item = TypeVar("Item")
AnyModel = TypeVar("AnyModel", bound="Model")
Key = tuple[Any, ...]

LONGEST_CURSOR = 4_000
LARGEST_NUMBER = 2**63


class BadCursor(PortalError):
    """A cursor that no list has handed out."""

    code = "request.cursor"

    def __init__(self) -> None:
        super().__init__(
            _(
                "This cursor is none that the list gave out: begin without one, or"
                " follow the `next` link as it is."
            )
        )


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items, and the cursor of the page behind them; None where there is none."""

    items: list[Item]
    following: str | None


def encoded(key: Sequence[Any]) -> str:
    """Return the cursor that stands for a row's key: texts and whole numbers."""
    return base64.urlsafe_b64encode(orjson.dumps(list(key))).decode().rstrip("=")


def decoded(cursor: str, types: Sequence[type]) -> Key | None:
    """Return the key that a cursor stands for, or None for an empty cursor.

    Raises:
        BadCursor: It does not hold values of these types.
    """
    if not cursor:
        return None
    try:
        data = base64.b64decode(
            cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        )
        values = orjson.loads(data) if len(cursor) <= LONGEST_CURSOR else None
    except (ValueError, binascii.Error) as error:
        raise BadCursor from error
    if not isinstance(values, list) or len(values) != len(types):
        raise BadCursor
    if not all(map(_is_sound, values, types)):
        raise BadCursor
    return tuple(values)


def decoded_moment(cursor: str) -> tuple[datetime, int] | None:
    """Return the key that is a moment in ISO form and a row's own key, or None.

    Raises:
        BadCursor: It does not hold them, or a moment of no time zone.
    """
    key = decoded(cursor, (str, int))
    if key is None:
        return None
    try:
        moment = datetime.fromisoformat(key[0])
    except ValueError as error:
        raise BadCursor from error
    if moment.tzinfo is None:
        raise BadCursor
    return moment, key[1]


def _is_sound(value: Any, kind: type) -> bool:
    if kind is int:
        return type(value) is int and abs(value) < LARGEST_NUMBER
    return isinstance(value, str) and "\0" not in value


class _RowAfter(Func):
    """`(a, b, …) > (x, y, …)` over as many columns as values."""

    output_field: Any = BooleanField()

    def as_sql(  # type: ignore[override]
        self, compiler: Any, connection: Any, **extra: Any
    ) -> tuple[str, list[Any]]:
        """Return the comparison, and its values."""
        compiled = [compiler.compile(each) for each in self.get_source_expressions()]
        half = len(compiled) // 2
        columns, values = (
            ", ".join(sql for sql, _parameters in part)
            for part in (compiled[:half], compiled[half:])
        )
        sign = self.extra["sign"]
        parameters = [each for _sql, given in compiled for each in given]
        return f"({columns}) {sign} ({values})", parameters


def rows_after(
    rows: QuerySet[AnyModel],
    columns: Sequence[str],
    key: Key | None,
    *,
    descending: bool = False,
) -> QuerySet[AnyModel]:
    """Return rows in the order of some columns, those behind a key alone."""
    ordered = rows.order_by(*(f"-{c}" if descending else c for c in columns))
    if key is None:
        return ordered
    pairs: list[Expression | F] = [*map(F, columns), *map(Value, key)]
    return ordered.filter(_RowAfter(*pairs, sign="<" if descending else ">"))


def page_of(
    found: list[Item], limit: int, key: Callable[[Item], Sequence[Any]]
) -> Page[Item]:
    """Return a page of `limit` items from a list of one more, where there is one."""
    shown = found[:limit]
    more = len(found) > limit
    return Page(shown, encoded(key(shown[-1])) if more else None)


def list_page(
    items: list[Item],
    key: Callable[[Item], Key],
    types: Sequence[type],
    *,
    cursor: str,
    limit: int,
) -> Page[Item]:
    """Return a page of a list in memory, sorted by `key`, which is each item's own."""
    after = decoded(cursor, types)
    ordered = sorted(items, key=key)
    behind = [each for each in ordered if after is None or key(each) > after]
    return page_of(behind, limit, key)
