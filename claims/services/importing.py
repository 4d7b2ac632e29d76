"""Foreign manifests, put right for one cluster: what was wrong, and the new text.

Nothing is changed that is not said, and each change can be declined. What comes
out is checked again by the same checks as everything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from claims.domain.checks.findings import Level
from claims.domain.importing.asking import CLAIM, TEMPLATE, Asking
from claims.domain.importing.cluster import (
    DEVICE_CLASS,
    class_repairs,
    constraint_key_repairs,
    device_class_repairs,
    finding_repairs,
    parent_repairs,
    selector_repairs,
    size_repairs,
)
from claims.domain.importing.edits import Repair, at, text_of
from claims.domain.importing.published import expressions_of, published_by
from claims.domain.importing.shapes import GROUP, shape_repairs, version_repairs
from claims.domain.importing.workloads import (
    WORKLOADS,
    compute_domain_notes,
    workload_repairs,
)
from claims.services import yaml_edits
from claims.services.checking import Checker, world_of
from claims.services.diagnosing import hidden_from
from claims.services.finding_sentences import sentence
from claims.services.import_sentences import import_sentence
from claims.services.yaml_edits import Piece, Source
from claims.services.yaml_text import UnreadableYaml
from inventory.gateways.engine import EngineRefused
from inventory.gateways.lines import line_finders
from inventory.models import KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.domain.checks.findings import Finding
    from claims.domain.preview import Preview
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

MOST_REPAIRS = 200
MOST_CHECKED = 20
REPAIRED, OFFERED, DECLINED, LEFT = "repaired", "offered", "declined", "left"
_CLAIMS = frozenset({CLAIM, TEMPLATE})
# Findings that tell what is in a namespace.
_OF_NAMESPACE = ("template.immutable", "quota.", "admin.namespace")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which repairs somebody declined, and which optional ones they chose; by key."""

    declined: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()

    def takes(self, key: str, repair: Repair) -> bool:
        """Return whether a repair is made."""
        if not repair.edits:
            return False
        return key in self.chosen if repair.optional else key not in self.declined


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document, and what became of it.

    Attributes:
        key: names it in a Choice; "" where there is nothing to choose.
        path: as in `spec.devices.requests[0].exactly.count`.
        line: 1-based in the imported text; None where it is not known.
        state: repaired, offered (optional), declined or left.
    """

    key: str
    code: str
    level: Level
    path: str
    line: int | None
    message: str
    state: str


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """One document of the text.

    Attributes:
        number: 1-based, in the text.
        before, after: its text; `after` has the documents that were added.
        checked: whether the result went through all checks.
        fitting: how many nodes could hold it now; None where that was not asked.
    """

    number: int
    line: int
    kind: str
    namespace: str
    name: str
    faults: tuple[Fault, ...]
    before: str
    after: str
    checked: bool = False
    fitting: int | None = None

    @property
    def diff(self) -> str:
        """The unified diff; empty where nothing was changed."""
        name = f"{self.kind or 'document'}-{self.name or self.number}.yaml"
        return yaml_edits.unified(self.before, self.after, name.lower())

    @property
    def repaired(self) -> tuple[Fault, ...]:
        """What was put right."""
        return tuple(each for each in self.faults if each.state == REPAIRED)

    @property
    def is_valid(self) -> bool:
        """Whether no error is left."""
        return not any(
            each.level is Level.ERROR and each.state != REPAIRED for each in self.faults
        )

    @property
    def is_composable(self) -> bool:
        """Whether the composer could take it."""
        return self.kind in _CLAIMS and self.is_valid


@dataclass(frozen=True, slots=True)
class Imported:
    """A whole text, put right."""

    documents: tuple[ImportedDocument, ...]
    text: str
    corrected: str

    @property
    def diff(self) -> str:
        """The unified diff of the whole."""
        return yaml_edits.unified(self.text, self.corrected, "manifests.yaml")

    @property
    def is_valid(self) -> bool:
        """Whether no document has an error left."""
        return all(each.is_valid for each in self.documents)


@dataclass(slots=True)
class _Object:
    """One object of a document while it is worked on."""

    body: Any
    scope: str
    finder: Callable[[str, int], int | None] | None
    first_line: int
    faults: dict[str, Fault] = field(default_factory=dict)
    adds: list[Json] = field(default_factory=list)
    checked: bool = False
    preview: Preview | None = None

    @property
    def kind(self) -> str:
        return str(self.body.get("kind", ""))

    def note(self, repair: Repair, state: str, *, keyed: bool) -> None:
        """Keep what was found, once."""
        path = text_of(repair.path)
        line = self.finder(path, 1) if self.finder else None
        key = f"{self.scope}:{repair.key}"
        self.faults[key] = Fault(
            key if keyed else "",
            repair.code,
            repair.level,
            path,
            self.first_line + line - 1 if line else None,
            import_sentence(repair),
            state,
        )


@dataclass(slots=True)
class _Document:
    """One piece of the text while it is worked on; `source` is None if unreadable."""

    piece: Piece
    number: int
    source: Source | None
    problem: Fault | None
    objects: list[_Object]


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
    pieces = yaml_edits.pieces_of(text)
    if all(piece.is_blank for piece in pieces):
        raise UnreadableYaml(_("There is nothing here: paste or upload YAML or JSON."))
    documents = list(_opened(pieces))
    importer = _Importer(cluster, user, choice or Choice())
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
            line = piece.line + error.line - 1 if error.line else piece.line
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
            _Object(body, f"{number}.{i}", finders[i] if same else None, piece.line)
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
    after = document.source.written() if document.source else before
    adds = [body for each in document.objects for body in each.adds]
    if adds:
        after += ("" if after.endswith("\n") else "\n") + yaml_edits.added_text(adds)
    previews = [each.preview for each in document.objects if each.preview]
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
        fitting=len(previews[0].fitting) if previews else None,
    )


class _Importer:
    """Repairs the objects of one text: classes first, since claims name them."""

    def __init__(self, cluster: Cluster, user: User | None, choice: Choice) -> None:
        self.cluster = cluster
        self.user = user
        self.choice = choice
        self.world = world_of(cluster)
        self.known = published_by(self.world)
        self.renamed: dict[str, str] = {}
        self.checker: Checker | None = None
        self._seen: dict[str, list[Finding]] = {}
        self._matches: dict[tuple[str, ...], frozenset[str]] = {}
        self._checks_left = MOST_CHECKED
        self.hidden = hidden_from(user, cluster) if user else frozenset()

    def work(self, objects: list[_Object]) -> None:
        """Repair and check all objects."""
        classes = [each for each in objects if each.kind == DEVICE_CLASS]
        for each in classes:
            name = at(each.body, ("metadata", "name"))
            self._repair(each, self._of_class)
            new = at(each.body, ("metadata", "name"))
            if isinstance(name, str) and isinstance(new, str) and name != new:
                self.renamed[name] = new
        try:
            self.checker = Checker(self.cluster, _overlay(classes))
            self.world = self.checker.world
            self.known.classes = self.world.classes()
        except PortalError as error:
            self._unchecked(objects, error)
        for each in objects:
            self._repair(each, self._repairs_for(each.kind))
            self._check(each)
            for body in each.adds:
                self._check_added(each, body)

    def _unchecked(self, objects: list[_Object], error: PortalError) -> None:
        for each in objects:
            repair = Repair("import.unchecked", (), "", {"error": error.message})
            each.note(repair, LEFT, keyed=False)

    def _repairs_for(self, kind: str) -> Callable[[Json], Iterator[Repair]]:
        if kind in _CLAIMS:
            return self._of_claim
        if kind == DEVICE_CLASS:
            return self._of_class
        if kind in WORKLOADS:
            return lambda body: workload_repairs(body, self.known)
        if kind == "ComputeDomain":
            return compute_domain_notes
        return _of_other

    def _repair(
        self, each: _Object, repairs: Callable[[Json], Iterator[Repair]]
    ) -> None:
        """Make one repair after the other, each looked for anew."""
        done = {key for key, fault in each.faults.items() if fault.state == REPAIRED}
        try:
            for _round in range(MOST_REPAIRS):
                found = next(self._to_make(each, repairs, done), None)
                if found is None:
                    break
                each.note(found, REPAIRED, keyed=True)
                done.add(f"{each.scope}:{found.key}")
                for change in found.edits:
                    yaml_edits.edit(each.body, change)
                each.adds += found.adds
            for found in repairs(each.body):
                key = f"{each.scope}:{found.key}"
                if key not in done:
                    state = _state(found)
                    each.note(found, state, keyed=bool(found.edits))
        except (LookupError, TypeError, AttributeError, ValueError):
            each.note(Repair("import.unreadable", (), "odd"), LEFT, keyed=False)
        except PortalError as error:
            self._unchecked([each], error)

    def _to_make(
        self,
        each: _Object,
        repairs: Callable[[Json], Iterator[Repair]],
        done: set[str],
    ) -> Iterator[Repair]:
        for found in repairs(each.body):
            key = f"{each.scope}:{found.key}"
            if key not in done and self.choice.takes(key, found):
                yield found

    def _of_class(self, body: Json) -> Iterator[Repair]:
        yield from version_repairs(body)
        yield from device_class_repairs(body, self.known)
        yield from selector_repairs(body, self.known)

    def _of_claim(self, body: Json) -> Iterator[Repair]:
        yield from version_repairs(body)
        if str(body.get("apiVersion")) != GROUP + "v1":
            return
        yield from shape_repairs(body)
        yield from class_repairs(body, self.known, self.renamed)
        yield from selector_repairs(body, self.known)
        yield from constraint_key_repairs(body, self.known)
        findings = self._findings(body)
        yield from size_repairs(body, self.known, findings)
        yield from finding_repairs(body, findings, self.world, self._candidates)
        if not any(found.code == "claim.invalid" for found in findings):
            yield from parent_repairs(body, self.world, self._candidates)

    def _findings(self, body: Json) -> list[Finding]:
        """Return what the checks find of an object as it is now; kept by its text."""
        item = self._checkable(body)
        if self.checker is None or item is None:
            return []
        text = json.dumps(item, sort_keys=True, default=str)
        if text not in self._seen:
            self._seen[text] = self.checker.findings(item)
        return self._seen[text]

    def _checkable(self, body: Json) -> Json | None:
        """Return an object as checks take it: plain, named, in a namespace of one's own."""
        if not isinstance(body.get("metadata"), dict):
            return None
        item: Json = json.loads(json.dumps(body, default=str))
        metadata = item["metadata"]
        name = metadata.get("name") or metadata.get("generateName")
        if not isinstance(name, str) or not name:
            return None
        metadata["name"] = name
        if item["kind"] != DEVICE_CLASS:
            namespace = str(metadata.get("namespace") or self._default())
            foreign = self._is_foreign(namespace)
            metadata["namespace"] = "" if foreign else namespace
        return item

    def _default(self) -> str:
        own = namespaces_of(self.user, self.cluster.name) if self.user else ()
        return next(iter(own), "default")

    def _is_foreign(self, namespace: str) -> bool:
        """Return whether a namespace is somebody else's to this person."""
        if self.user is None or self.user.may(Permission.SEE_ALL_CLAIMS):
            return False
        if namespace in namespaces_of(self.user, self.cluster.name):
            return False
        return KubeObject.objects.filter(
            cluster=self.cluster, namespace=namespace, deleted_at=None
        ).exists()

    def _candidates(self, ask: Asking) -> frozenset[str]:
        """Return the devices for an ask; those of its class where none matches."""
        body = self.known.classes.get(ask.class_name)
        if body is None or self.checker is None:
            return frozenset()
        within = expressions_of(body)
        own = [text for _path, text in ask.selectors]
        return self._evaluated([*within, *own]) or self._evaluated(within)

    def _evaluated(self, texts: list[str]) -> frozenset[str]:
        key = tuple(texts)
        if key not in self._matches and self.checker:
            try:
                found = self.checker.engine.evaluate(texts, listing=True).matches
            except EngineRefused:
                found = ()
            known = self.world.devices
            self._matches[key] = frozenset(each for each in found if each in known)
        return self._matches.get(key, frozenset())

    def _check(self, each: _Object) -> None:
        """Let the checks say what is left of an object."""
        if each.kind not in _CLAIMS | {DEVICE_CLASS} or self.checker is None:
            return
        item = self._checkable(each.body)
        if item is None:
            path = ("metadata", "name")
            each.note(Repair("claim.invalid", path, "nameless"), LEFT, keyed=False)
            return
        if not item["metadata"].get("namespace") and each.kind != DEVICE_CLASS:
            namespace = str(each.body["metadata"].get("namespace") or self._default())
            values = {"namespace": namespace[:63]}
            path = ("metadata", "namespace")
            each.note(Repair("import.namespace", path, "", values), LEFT, keyed=False)
        self._judge(each, item, prefix="")

    def _check_added(self, each: _Object, body: Json) -> None:
        if self.checker is not None and (item := self._checkable(body)):
            self._judge(each, item, prefix=f"{body['metadata']['name']}: ")

    def _judge(self, each: _Object, item: Json, *, prefix: str) -> None:
        if self._checks_left <= 0 or self.checker is None:
            return
        self._checks_left -= 1
        try:
            checked = self.checker.check(item, earlier=[], mine=[])
        except PortalError as error:
            self._unchecked([each], error)
            return
        each.checked = True
        each.preview = each.preview or checked.preview
        foreign = not item["metadata"].get("namespace")
        told = {(f.code, f.path) for f in each.faults.values() if f.state != REPAIRED}
        for found in checked.findings:
            hides = foreign and found.code.startswith(_OF_NAMESPACE)
            if hides or (found.code, found.path) in told:
                continue
            self._left(each, found, prefix)

    def _left(self, each: _Object, found: Finding, prefix: str) -> None:
        line = each.finder(found.path, found.line or 1) if each.finder else None
        each.faults[f"check:{prefix}{found.code}:{found.path}"] = Fault(
            "",
            found.code,
            found.level,
            found.path,
            each.first_line + line - 1 if line and not prefix else None,
            prefix + sentence(found, hide=self.hidden),
            LEFT,
        )


def _state(repair: Repair) -> str:
    """Return what became of a repair that was not made."""
    if not repair.edits:
        return LEFT
    return OFFERED if repair.optional else DECLINED


def _of_other(body: Json) -> Iterator[Repair]:
    values = {"kind": str(body.get("kind", ""))[:80]}
    if str(body.get("apiVersion", "")).startswith(GROUP):
        yield from version_repairs(body)
    yield Repair("import.kept", ("kind",), "", values)


def _overlay(classes: list[_Object]) -> list[Json]:
    """Return the classes of a text that could stand in a cluster."""
    return [
        json.loads(json.dumps(each.body, default=str))
        for each in classes
        if isinstance(at(each.body, ("metadata", "name")), str)
        and isinstance(each.body.get("spec") or {}, dict)
    ]
