"""Writes: what create, update, patch and delete do to the store."""

from __future__ import annotations

import copy
import random
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from simcluster import refusals
from simcluster.defaults import fill_in
from simcluster.kinds import (
    CLAIM,
    COMPUTE_DOMAIN,
    NAMESPACE,
    NODE,
    POD,
    TEMPLATE,
    Kind,
    Object,
)
from simcluster.patches import json_patched, merged
from simcluster.refusals import MODIFIED, Cause, Refusal, bad_request
from simcluster.schema import Schemas
from simcluster.storage import Store
from simcluster.validation import Judge, admin_problems, problems

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_KEPT = ("uid", "creationTimestamp", "generateName", "generation", "resourceVersion")
_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


def moment(later: float = 0) -> str:
    """Return the time now, or some seconds later, as Kubernetes writes it."""
    now = datetime.now(UTC) + timedelta(seconds=later)  # noqa: TID251  no Django here
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def generated(base: str) -> str:
    """Return a name that begins with `base`, cut as the API server cuts it."""
    return base[:58] + "".join(random.choices(_LETTERS, k=5))  # noqa: S311  no secret


@dataclass(frozen=True, slots=True)
class Write:
    """How a write is asked for."""

    dry_run: bool = False
    strict: bool = False
    warnings: list[str] = field(default_factory=list)


class Registry:
    """Writes to the store, admitted, defaulted and validated."""

    def __init__(self, store: Store, schemas: Schemas, judge: Judge) -> None:
        """Take the store, and what tells whether expressions compile."""
        self._store, self._schemas, self._judge = store, schemas, judge

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object:
        """Return a stored object.

        Raises:
            Refusal: There is none.
        """
        found = self._store.get(kind, name, namespace)
        if found is None:
            raise refusals.not_found(kind, name)
        return found

    async def create(
        self, kind: Kind, namespace: str, sent: Object, how: Write
    ) -> Object:
        """Store a new object and return it.

        Raises:
            Refusal: It is not admitted, not valid, or there already.
        """
        body = self._decoded(kind, namespace, sent, how)
        metadata = body["metadata"]
        if kind.namespaced:
            metadata["namespace"] = namespace
            self._demand_namespace(kind, metadata.get("name", ""), namespace)
        body["metadata"] = metadata = _begin(kind, metadata)
        if kind.has_status:
            body.pop("status", None)
        fill_in(kind, body, moment())
        await self._validate(kind, body)
        if there := self._store.get(kind, metadata["name"], namespace):
            deleting = "deletionTimestamp" in there["metadata"]
            raise refusals.exists(kind, metadata["name"], deleting=deleting)
        return body if how.dry_run else self._store.put(kind, body)

    async def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        sent: Object,
        how: Write,
        part: str = "",
    ) -> Object:
        """Replace an object, or its status, and return what is stored.

        Raises:
            Refusal: It is not valid, changed meanwhile, or not there.
        """
        old = self.find(kind, name, namespace)
        body = self._decoded(kind, namespace, sent, how)
        if body["metadata"].get("name") != name:
            shown = body["metadata"].get("name", "")
            raise bad_request(
                f"the name of the object ({shown}) does not match the name on the URL ({name})"
            )
        if not part and kind not in (NAMESPACE, NODE):
            fill_in(kind, body, moment())
        new = self._succeed(kind, old, body, part)
        if new == old:
            return old
        _demand_mutable(kind, name, old, new)
        if new.get("spec") != old.get("spec"):
            await self._validate(kind, new)
        if self._store.get(kind, name, namespace) is not old:
            raise refusals.conflict(kind, name, MODIFIED)
        if how.dry_run:
            return new
        if "deletionTimestamp" in new["metadata"] and not _finalizers(kind, new):
            self._store.remove(kind, new)
            return new
        return self._store.put(kind, new)

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Any,
        how: Write,
        part: str = "",
    ) -> Object:
        """Patch an object: a mapping is a merge patch, a list a JSON patch."""
        old = self.find(kind, name, namespace)
        patched = copy.deepcopy(kind.stamped(old))
        if isinstance(change, list):
            patched = json_patched(patched, change)
        else:
            patched = merged(patched, change)
        return await self.update(kind, namespace, name, patched, how, part)

    def delete(
        self, kind: Kind, namespace: str, name: str, options: Object, how: Write
    ) -> Object:
        """Delete an object, or mark it where something must happen first.

        Raises:
            Refusal: It is not there, or is another than the preconditions name.
        """
        old = self.find(kind, name, namespace)
        _demand_preconditions(kind, old, options.get("preconditions") or {})
        if how.dry_run:
            return old
        metadata, seconds = dict(old["metadata"]), _grace(kind, old, options)
        if not _finalizers(kind, old) and not seconds:
            return self._store.remove(kind, old)
        if "deletionTimestamp" in metadata:
            return old
        metadata["deletionTimestamp"] = moment(seconds)
        new = {**old, "metadata": metadata}
        if kind == NAMESPACE:
            new["status"] = {"phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = seconds
        return self._store.put(kind, new)

    def _decoded(self, kind: Kind, namespace: str, sent: Object, how: Write) -> Object:
        named = (sent.get("apiVersion"), sent.get("kind"))
        if named[1] == kind.name and named[0] != kind.api_version:
            raise bad_request(
                f"the API version in the data ({named[0]}) does not match the expected API"
                f" version ({kind.api_version})"
            )
        if named != (kind.api_version, kind.name):
            raise refusals.undecodable(kind, f"the body is a {named[1]} of {named[0]}")
        body, complaints = self._schemas.decode(kind, sent)
        if complaints and how.strict:
            raise refusals.undecodable(
                kind, f"strict decoding error: {', '.join(complaints)}"
            )
        how.warnings.extend(complaints)
        body = {k: v for k, v in body.items() if k not in ("kind", "apiVersion")}
        body["metadata"] = copy.copy(body.get("metadata") or {})
        if (body["metadata"].get("namespace") or namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent"
                " on the request"
            )
        return body

    def _demand_namespace(self, kind: Kind, name: str, namespace: str) -> None:
        found = self.find(NAMESPACE, namespace)
        if "deletionTimestamp" in found["metadata"]:
            text = (
                f'{kind.resource} "{name}" is forbidden: unable to create new content in'
                f" namespace {namespace} because it is being terminated"
            )
            raise Refusal(403, "Forbidden", text, refusals.details(kind, name))

    async def _validate(self, kind: Kind, body: Object) -> None:
        metadata = body["metadata"]
        name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
        found = admin_problems(kind, body, self._store.get(NAMESPACE, namespace))
        found = found or await problems(kind, body, self._judge)
        if found:
            raise refusals.invalid(kind, name, found)

    def _succeed(self, kind: Kind, old: Object, body: Object, part: str) -> Object:
        """Return what an update makes of the old object."""
        name, before, sent = old["metadata"]["name"], old["metadata"], body["metadata"]
        if (
            sent.get("resourceVersion", before["resourceVersion"])
            != before["resourceVersion"]
        ):
            raise refusals.conflict(kind, name, MODIFIED)
        if sent.get("uid", before["uid"]) != before["uid"]:
            text = f"Precondition failed: UID in precondition: {sent['uid']}, UID in object meta: {before['uid']}"
            raise refusals.conflict(kind, name, text)
        if part:
            return {**old, part: body.get(part, {})}
        kept = {k: before[k] for k in (*_KEPT, *_DELETION, "namespace") if k in before}
        new = {**body, "metadata": {**sent, **kept}}
        if kind.has_status:
            new["status"] = old.get("status", {})
        if kind.has_generation and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = before["generation"] + 1
        return new


def _begin(kind: Kind, sent: Object) -> Object:
    """Return the metadata of a new object."""
    if sent.get("resourceVersion"):
        text = "resourceVersion should not be set on objects to be created"
        raise Refusal(500, "", text)
    found = {k: v for k, v in sent.items() if k not in (*_KEPT, *_DELETION)}
    if base := sent.get("generateName"):
        name = found.get("name") or generated(base)
        found |= {"name": name, "generateName": base}
    found |= {"uid": str(uuid.uuid4()), "creationTimestamp": moment()}
    return {**found, "generation": 1} if kind.has_generation else found


def _finalizers(kind: Kind, body: Object) -> bool:
    held = body["metadata"].get("finalizers")
    return bool(held or (kind == NAMESPACE and body.get("spec", {}).get("finalizers")))


def _grace(kind: Kind, body: Object, options: Object) -> int:
    if kind != POD or not body["spec"].get("nodeName"):
        return 0
    seconds = options.get("gracePeriodSeconds")
    return int(
        body["spec"]["terminationGracePeriodSeconds"] if seconds is None else seconds
    )


def _demand_mutable(kind: Kind, name: str, old: Object, new: Object) -> None:
    """Raise Refusal where an update changes what cannot change."""
    found = []
    fixed = (CLAIM, TEMPLATE, COMPUTE_DOMAIN)
    if kind in fixed and new.get("spec") != old["spec"]:
        shown = None if kind == CLAIM else new.get("spec")
        found.append(Cause("Invalid", "spec", "field is immutable", shown))
    status, before = new.get("status", {}), old.get("status", {})
    if kind == CLAIM and status.get("reservedFor") and "allocation" not in status:
        text = "may not be specified when `allocated` is not set"
        found.append(Cause("Forbidden", "status.reservedFor", text))
    allocations = [each.get("allocation") for each in (before, status)]
    if kind == CLAIM and all(allocations) and allocations[0] != allocations[1]:
        found.append(Cause("Invalid", "status.allocation", "field is immutable"))
    fresh = set(new["metadata"].get("finalizers", [])) - set(
        old["metadata"].get("finalizers", [])
    )
    if fresh and "deletionTimestamp" in old["metadata"]:
        listed = ", ".join(f'"{each}"' for each in sorted(fresh))
        text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
        found.append(Cause("Forbidden", "metadata.finalizers", text))
    if found:
        raise refusals.invalid(kind, name, found)


def _demand_preconditions(kind: Kind, old: Object, wanted: Object) -> None:
    metadata = old["metadata"]
    for key, shown, gone in (
        ("uid", "UID", "The object might have been deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "The object might have been modified"),
    ):
        if wanted.get(key, metadata[key]) != metadata[key]:
            text = (
                f"the {shown} in the precondition ({wanted[key]}) does not match the"
                f" {shown} in record ({metadata[key]}). {gone}"
            )
            name = metadata["name"]
            raise refusals.conflict(kind, name, text, on_delete=True)
