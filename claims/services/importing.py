"""Foreign manifests, put right for one cluster: what was wrong, and the new text.

Nothing is changed that is not said, and each change can be declined. What comes
out is checked again by the same checks as everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from claims.domain.checks.findings import Level
from claims.domain.compute_domains import drafted
from claims.domain.importing.edits import Repair, at
from claims.services.fits import fit_of
from claims.services.import_sentences import import_sentence
from claims.services.imported import (
    LEFT,
    Choice,
    Fault,
    Imported,
    ImportedDocument,
)
from claims.services.repairing import CLAIMS, Repairer, WorkObject
from claims.services.yaml_source import Piece, Source, added_text, pieces_of
from claims.services.yaml_text import UnreadableYaml, dump
from inventory.gateways.lines import line_finders

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.accounts.models import User


@dataclass(slots=True)
class _Document:
    """One piece of the text while it is worked on; `source` is None if unreadable."""

    piece: Piece
    number: int
    source: Source | None
    problem: Fault | None
    objects: list[WorkObject]


def import_text(
    cluster: Cluster,
    text: str,
    *,
    user: User | None = None,
    choice: Choice | None = None,
) -> Imported:
    """Return what is wrong with manifests, and the text that puts it right.

    Args:
        cluster: whose classes and devices it is to fit.
        text: YAML or JSON, any number of documents.
        user: whose namespaces are theirs; None may see all.
        choice: which repairs are not made; all but the optional ones by default.

    Raises:
        UnreadableYaml: The text is too long, or no text.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    pieces = pieces_of(text)
    if all(piece.is_blank for piece in pieces):
        raise UnreadableYaml(_("There is nothing here: paste or upload YAML or JSON."))
    documents = list(_opened(pieces))
    importer = Repairer(cluster, user, choice or Choice())
    importer.work([each for doc in documents for each in doc.objects])
    finished = [_finished(doc) for doc in documents]
    return Imported(
        tuple(each for each in finished if each.number),
        text,
        _joined(pieces, [each.after for each in finished]),
    )


def _joined(pieces: list[Piece], texts: list[str]) -> str:
    """Return the pieces with their marks; a line ends before the next mark."""
    whole = ""
    for piece, text in zip(pieces, texts, strict=True):
        if whole and piece.mark and not whole.endswith("\n"):
            whole += "\n"
        whole += piece.mark + text
    return whole


def _opened(pieces: list[Piece]) -> Iterator[_Document]:
    number = 0
    for piece in pieces:
        if piece.is_blank:
            yield _Document(piece, 0, None, None, [])
            continue
        number += 1
        try:
            source = Source(piece.text)
        except UnreadableYaml as error:
            last = piece.text.rstrip("\n").count("\n")
            line = piece.line + min((error.line or 1) - 1, last)
            problem = _fault("import.unreadable", line, error=error.message)
            yield _Document(piece, number, None, problem, [])
            continue
        found = list(_objects(source.root))
        if not found:
            problem = _fault("import.unreadable", piece.line, "kept")
            problem = replace(problem, level=Level.WARNING)
            yield _Document(piece, number, None, problem, [])
            continue
        finders = line_finders(piece.text.encode())
        same = len(finders) == len(found)
        objects = [
            WorkObject(body, f"{number}.{i}", finders[i] if same else None, piece.line)
            for i, body in enumerate(found)
        ]
        yield _Document(piece, number, source, None, objects)


def _fault(code: str, line: int, variant: str = "", **values: str) -> Fault:
    repair = Repair(code, (), variant, values)
    return Fault("", code, repair.level, "", line, import_sentence(repair), LEFT)


def _objects(root: Any) -> Iterator[Any]:
    """Yield the objects of a document, lists unwrapped."""
    if not isinstance(root, dict) or not isinstance(root.get("kind"), str):
        return
    if root["kind"].endswith("List") and isinstance(root.get("items"), list):
        for item in root["items"]:
            yield from _objects(item)
    else:
        yield root


def _finished(document: _Document) -> ImportedDocument:
    before = document.piece.text
    faults = [fault for each in document.objects for fault in each.faults.values()]
    if document.problem:
        faults.append(document.problem)
    faults.sort(key=lambda each: each.line or 0)
    first = document.objects[0].body if document.objects else {}
    written = after = document.source.written() if document.source else before
    adds = [body for each in document.objects for body in each.adds]
    if adds:
        after += ("" if after.endswith("\n") else "\n") + added_text(adds)
    is_one = len(document.objects) == 1
    own = [written] if document.source else []
    whole = own if is_one and str(first.get("kind")) in CLAIMS else []
    added = tuple((str(body["metadata"]["name"]), dump(body)) for body in adds)
    named = ((str(at(first, ("metadata", "name")) or ""), text) for text in whole)
    fits = [fit_of(*each) for work in document.objects for each in work.previews]
    return ImportedDocument(
        document.number,
        document.piece.line,
        str(first.get("kind", "")),
        str(at(first, ("metadata", "namespace")) or ""),
        str(at(first, ("metadata", "name")) or ""),
        tuple(faults),
        before,
        after,
        checked=any(each.checked for each in document.objects),
        fitting=fits[0].known if fits else None,
        parts=(*named, *added),
        written=written,
        added=added,
        fits=tuple(fits),
        domain=drafted(first) if is_one else None,
    )
