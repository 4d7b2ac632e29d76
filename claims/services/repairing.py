"""Objects of an import put right, one repair after the other, and then checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import CLAIM, TEMPLATE, Asking
from claims.domain.importing.cluster import (
    DEVICE_CLASS,
    class_repairs,
    constraint_key_repairs,
    device_class_repairs,
    parent_repairs,
    selector_repairs,
    size_repairs,
)
from claims.domain.importing.edits import Repair, at, text_of
from claims.domain.importing.found import finding_repairs
from claims.domain.importing.published import expressions_of, published_by
from claims.domain.importing.shapes import GROUP, shape_repairs, version_repairs
from claims.domain.importing.workloads import (
    compute_domain_notes,
    holds_pods,
    workload_repairs,
)
from claims.services.checking import Checker, world_of
from claims.services.diagnosing import hidden_from
from claims.services.finding_sentences import sentence
from claims.services.import_sentences import import_sentence
from claims.services.imported import (
    DECLINED,
    LEFT,
    OFFERED,
    REPAIRED,
    Fault,
)
from claims.services.yaml_edits import edit
from inventory.gateways.engine import EngineRefused
from inventory.models import KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.domain.checks.findings import Finding
    from claims.domain.preview import Preview
    from claims.services.imported import Choice
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

MOST_REPAIRS = 200
MOST_CHECKED = 20
CLAIMS = frozenset({CLAIM, TEMPLATE})
# Findings that tell what is in a namespace.
_OF_NAMESPACE = ("template.immutable", "quota.", "admin.namespace")


@dataclass(slots=True)
class WorkObject:
    """One object of a document while it is worked on.

    Attributes:
        scope: names it among the text's objects, in keys.
        finder: from a path to a line of the document, which begins at `first_line`.
        adds: documents that repairs brought.
    """

    body: Any
    scope: str
    finder: Callable[[str, int], int | None] | None
    first_line: int
    faults: dict[str, Fault] = field(default_factory=dict)
    adds: list[Json] = field(default_factory=list)
    checked: bool = False
    previews: list[tuple[str, Preview]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Its kind as it stands."""
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


class Repairer:
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

    def work(self, objects: list[WorkObject]) -> None:
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
            self._repair(each, self._repairs_for(each))
            self._check(each)
            for body in each.adds:
                self._check_added(each, body)

    def _unchecked(self, objects: list[WorkObject], error: PortalError) -> None:
        for each in objects:
            repair = Repair("import.unchecked", (), "", {"error": error.message})
            each.note(repair, LEFT, keyed=False)

    def _repairs_for(self, each: WorkObject) -> Callable[[Json], Iterator[Repair]]:
        kind = each.kind
        if kind in CLAIMS:
            return self._of_claim
        if kind == DEVICE_CLASS:
            return self._of_class
        if kind == "ComputeDomain":
            return compute_domain_notes
        if holds_pods(each.body):
            return lambda body: workload_repairs(body, self.known)
        return _of_other

    def _repair(
        self, each: WorkObject, repairs: Callable[[Json], Iterator[Repair]]
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
                    edit(each.body, change)
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
        each: WorkObject,
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

    def _check(self, each: WorkObject) -> None:
        """Let the checks say what is left of an object."""
        if each.kind not in CLAIMS | {DEVICE_CLASS} or self.checker is None:
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

    def _check_added(self, each: WorkObject, body: Json) -> None:
        if self.checker is not None and (item := self._checkable(body)):
            self._judge(each, item, prefix=f"{body['metadata']['name']}: ")

    def _judge(self, each: WorkObject, item: Json, *, prefix: str) -> None:
        if self._checks_left <= 0 or self.checker is None:
            return
        self._checks_left -= 1
        try:
            checked = self.checker.check(item, earlier=[], mine=[])
        except PortalError as error:
            self._unchecked([each], error)
            return
        each.checked = True
        if checked.preview:
            each.previews.append((str(item["metadata"]["name"]), checked.preview))
        foreign = not item["metadata"].get("namespace")
        told = {(f.code, f.path) for f in each.faults.values() if f.state != REPAIRED}
        for found in checked.findings:
            hides = foreign and found.code.startswith(_OF_NAMESPACE)
            if hides or (found.code, found.path) in told:
                continue
            self._left(each, found, prefix)

    def _left(self, each: WorkObject, found: Finding, prefix: str) -> None:
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


def _overlay(classes: list[WorkObject]) -> list[Json]:
    """Return the classes of a text that could stand in a cluster."""
    return [
        json.loads(json.dumps(each.body, default=str))
        for each in classes
        if isinstance(at(each.body, ("metadata", "name")), str)
        and isinstance(each.body.get("spec") or {}, dict)
    ]
