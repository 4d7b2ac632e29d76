"""What `check_claim` prints: one document as JSON, text or SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import CATALOGUE, Finding, Level
from claims.services.filed import identity_of
from claims.services.finding_sentences import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claims.domain.checks.findings import ObjectFinding
    from claims.services.checking import CheckedItem

Json = dict[str, Any]

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}


def check_document(
    items: list[CheckedItem],
    others: list[ObjectFinding],
    lines: list[Callable[[str, int], int | None] | None],
    *,
    hide: frozenset[str] = frozenset(),
) -> Json:
    """Return the JSON document.

    Args:
        items: what was checked.
        others: findings on other objects.
        lines: each item's lines in the file.
        hide: namespaces whose claims are only "in use" to the reader.
    """
    return {
        "cluster": [
            {
                "kind": found.kind,
                "namespace": found.namespace,
                "name": found.name,
                "code": found.finding.code,
                "level": found.finding.level.value,
                "message": sentence(found.finding, hide=hide),
            }
            for found in others
        ],
        "items": [
            {
                **identity_of(checked.item),
                "diagnostics": [_diagnostic(f, line, hide) for f in checked.findings],
                "preview": checked.preview.document() if checked.preview else None,
            }
            for checked, line in zip(items, lines, strict=True)
        ],
    }


def _diagnostic(
    finding: Finding,
    line: Callable[[str, int], int | None] | None,
    hide: frozenset[str],
) -> Json:
    fix = None
    if finding.replacement is not None:
        fix = {"path": finding.path, "value": finding.replacement}
    return {
        "code": finding.code,
        "level": finding.level.value,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "fileLine": line(finding.path, finding.line or 1) if line else None,
        "message": sentence(finding, hide=hide),
        "fix": fix,
    }


def has_error(document: Json) -> bool:
    """Return whether a document holds a finding of level error."""
    found = [d for item in document["items"] for d in item["diagnostics"]]
    return any(d["level"] == Level.ERROR for d in [*found, *document["cluster"]])


def text_lines(document: Json, label: str) -> Iterator[str]:
    """Yield a document as lines for a person; `label` names the file."""
    for item in document["items"]:
        name = "/".join(filter(None, (item["namespace"], item["name"])))
        yield f"{item['kind']} {name}"
        for found in item["diagnostics"]:
            place = (
                f"{label}:{found['fileLine']}" if found["fileLine"] else found["path"]
            )
            yield f"  {found['level']} {found['code']} ({place}): {found['message']}"
        for node, answer in ((item["preview"] or {}).get("nodes") or {}).items():
            words = ": ".join(filter(None, (answer["outcome"], answer["message"])))
            yield f"  {node}: {words}"
    for found in document["cluster"]:
        name = "/".join(filter(None, (found["namespace"], found["name"])))
        yield f"{found['kind']} {name}"
        yield f"  {found['level']} {found['code']}: {found['message']}"


def sarif(document: Json, label: str) -> Json:
    """Return a document as SARIF 2.1.0, one result a finding."""
    used = sorted(
        {d["code"] for item in document["items"] for d in item["diagnostics"]}
        | {found["code"] for found in document["cluster"]}
    )
    results = [
        _result(found, used, label, found["fileLine"])
        for item in document["items"]
        for found in item["diagnostics"]
    ] + [_result(found, used, label, None) for found in document["cluster"]]
    rules = [
        {"id": code, "defaultConfiguration": {"level": _SARIF_LEVELS[CATALOGUE[code]]}}
        for code in used
    ]
    driver = {"name": "slicewise", "rules": rules}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(found: Json, codes: list[str], label: str, line: int | None) -> Json:
    place: Json = {"artifactLocation": {"uri": label}}
    if line:
        place["region"] = {"startLine": line}
    return {
        "ruleId": found["code"],
        "ruleIndex": codes.index(found["code"]),
        "level": _SARIF_LEVELS[Level(found["level"])],
        "message": {"text": found["message"]},
        "locations": [{"physicalLocation": place}],
    }
