"""A CEL expression judged and evaluated over a cluster, as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inventory.services.engines import engine_for

if TYPE_CHECKING:
    from inventory.domain.engine import Checked, Evaluated, Tally, Verdict
    from inventory.models import Cluster

Json = dict[str, Any]


def expression_document(cluster: Cluster, expression: str) -> Json:
    """Return what `manage.py cel` prints: verdicts, cost, counts and errors.

    Counts are null where the scheduler cannot compile the expression.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    engine = engine_for(cluster)
    (checked,) = engine.check([expression])
    evaluated = engine.evaluate([expression]) if checked.scheduler.ok else None
    return _document(expression, checked, evaluated)


def _document(expression: str, checked: Checked, evaluated: Evaluated | None) -> Json:
    return {
        "expression": expression,
        "compile": {
            "apiserver": _verdict(checked.apiserver),
            "scheduler": _verdict(checked.scheduler),
        },
        "cost": checked.cost,
        "limit": checked.limit,
        "devices": _tally(evaluated.devices if evaluated else None),
        "nodes": {
            name: _tally(tally) for name, tally in sorted(evaluated.nodes.items())
        }
        if evaluated
        else {},
        "errors": [
            {"message": e.message, "count": e.count, "example": e.example}
            for e in (evaluated.errors if evaluated else ())
        ],
    }


def _verdict(verdict: Verdict) -> Json:
    return {
        "ok": verdict.ok,
        "error": verdict.error,
        "line": verdict.line,
        "column": verdict.column,
    }


def _tally(tally: Tally | None) -> Json | None:
    if tally is None:
        return None
    return {"match": tally.match, "noMatch": tally.no_match, "error": tally.error}
