"""What a form was begun from: a request or a template, to copy it or to revise it.

Specs of templates and claims cannot be changed in Kubernetes, so a change is a new
object beside the old one; who still uses the old one is shown until nobody does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from claims.domain.follow import Applied, ObjectState, follow
from claims.domain.manifest import (
    API_VERSION,
    KINDS,
    MANAGED_BY_LABEL,
    REQUEST_LABEL,
    TEMPLATE,
    TRACE_ANNOTATION,
    ordered,
)
from claims.queries.requests import following, visible_to
from claims.services.readable import keeper_of, template_for
from claims.services.writing import from_yaml, rebased
from claims.services.yaml_source import unified
from claims.services.yaml_text import dump
from inventory.models import KubeObject
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claims.domain.draft import Draft
    from claims.models import ClaimRequest
    from inventory.models import Cluster
    from portal.accounts.models import User

Json = dict[str, Any]

COPY, REVISION = "copy", "revision"
_ORIGIN = re.compile(
    r"(?P<how>copy|revision):"
    r"(?:request:(?P<id>[0-9a-f-]{36})"
    r"|template:(?P<namespace>[a-z0-9-]{1,63})/(?P<name>[a-z0-9.-]{1,253}))"
)
_VERSION = re.compile(r"(?P<stem>.*?)-v(?P<n>[0-9]{1,6})")
_WRITTEN = ("name", "namespace", "labels", "annotations")
# In a live object these are what controllers wrote; in a request, what was asked for.
_ASKED = (*_WRITTEN, "generateName", "finalizers", "ownerReferences")
_OURS = {
    "labels": (MANAGED_BY_LABEL, REQUEST_LABEL),
    "annotations": (TRACE_ANNOTATION,),
}


@dataclass(frozen=True)
class Origin:
    """What a form was begun from.

    Attributes:
        text: as a field of the form carries it.
        manifest: without what the portal or a server added.
        href: its page.
        find_users: what finds the pods that use it now.
        is_named: whether their names are for this person.
        request: the claim request that made it, if it is one that this person sees.
    """

    text: str
    manifest: Json
    href: str
    find_users: Callable[[], tuple[str, ...]]
    is_named: bool = True
    request: ClaimRequest | None = None

    @cached_property
    def _found(self) -> tuple[str, ...]:
        return self.find_users()

    @property
    def user_count(self) -> int:
        """How many pods use it now."""
        return len(self._found)

    @property
    def users(self) -> tuple[str, ...] | None:
        """Those pods by name; None where their names are not for this person."""
        return self._found if self.is_named else None

    @property
    def is_revision(self) -> bool:
        """Whether the form is a new version of it, and no copy."""
        return self.text.startswith(REVISION)

    @property
    def name(self) -> str:
        """What it is called, with its namespace."""
        metadata = self.manifest["metadata"]
        return f"{metadata.get('namespace', '')}/{metadata['name']}"


def origin_of(user: User, cluster: Cluster, text: str) -> Origin | None:
    """Return what a form was begun from; None where there is none for this person.

    Args:
        user: who is to read it.
        cluster: where the form is.
        text: as in `revision:request:<id>` or `copy:template:<namespace>/<name>`.
    """
    if not (found := _ORIGIN.fullmatch(text)):
        return None
    if found["id"]:
        return _of_request(user, cluster, text, found["id"])
    return _of_template(user, cluster, text, found["namespace"], found["name"])


def _of_request(user: User, cluster: Cluster, text: str, given: str) -> Origin | None:
    try:
        rows = visible_to(user).filter(public_id=UUID(given), plan__cluster=cluster)
    except ValueError:
        return None
    row = rows.distinct().first()
    if row is None or row.plan.kind not in KINDS:
        return None

    def find_users() -> tuple[str, ...]:
        became = following(row, now=timezone.now())
        return tuple(pod.name for pod in became.pods) if became else ()

    href = reverse("claims:request-detail", args=[row.public_id])
    manifest = cleaned(row.plan.manifest, keep=_ASKED)
    return Origin(text, manifest, href, find_users, request=row)


def _of_template(
    user: User, cluster: Cluster, text: str, namespace: str, name: str
) -> Origin | None:
    row = template_for(user, cluster, namespace, name)
    made_by = keeper_of(row.body) if row else ""
    if row is None or made_by == "domain":
        return None
    request = (
        visible_to(user).filter(public_id=made_by, plan__cluster=cluster).first()
        if made_by and _is_uuid(made_by)
        else None
    )
    return Origin(
        text,
        cleaned({"apiVersion": API_VERSION, "kind": TEMPLATE, **row.body}),
        reverse("claims:template-detail", args=[cluster.name, namespace, name]),
        partial(users_of_template, cluster, namespace, name),
        namespace in namespaces_of(user, cluster.name),
        request,
    )


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def users_of_template(cluster: Cluster, namespace: str, name: str) -> tuple[str, ...]:
    """Return the pods that name a template, sorted; one query."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="Pod", namespace=namespace, deleted_at=None
    )
    pods = rows.values_list("body", flat=True)
    applied = Applied(TEMPLATE, name, "")
    found = follow(applied, ObjectState.PRESENT, claims=(), pods=pods)
    return tuple(pod.name for pod in found.pods)


def cleaned(manifest: Json, *, keep: Sequence[str] = _WRITTEN) -> Json:
    """Return a manifest as a person would write it: nothing of the portal's or a server's.

    Args:
        manifest: as it was applied, or as a server has it.
        keep: the parts of its metadata that are a person's.
    """
    kept: Json = {
        key: manifest["metadata"][key] for key in keep if manifest["metadata"].get(key)
    }
    spec = dict(manifest["spec"])
    if manifest["kind"] == TEMPLATE and spec.get("metadata"):
        if inner := _without_ours(spec["metadata"]):
            spec["metadata"] = inner
        else:
            del spec["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": manifest["kind"],
        "metadata": _without_ours(kept),
        "spec": spec,
    }


def _without_ours(metadata: Json) -> Json:
    left = dict(metadata)
    for group, keys in _OURS.items():
        pairs = {k: v for k, v in (left.get(group) or {}).items() if k not in keys}
        left.pop(group, None)
        if pairs:
            left[group] = pairs
    return left


def begun_from(origin: Origin, user: User, cluster: Cluster) -> Draft | None:
    """Return the form filled from what it is begun from, under a free name.

    None where the form cannot hold it.
    """
    taken = from_yaml(dump(ordered(origin.manifest)))
    if taken.draft is None:
        return None
    draft, own = taken.draft, namespaces_of(user, cluster.name)
    namespace = draft.namespace if draft.namespace in own else next(iter(own), "")
    name = _free_name(cluster, draft.kind, namespace, draft.name, origin)
    return rebased(replace(draft, namespace=namespace, name=name))


def _free_name(
    cluster: Cluster, kind: str, namespace: str, name: str, origin: Origin
) -> str:
    """Return a name that nothing of the kind has: `x-v2` of a revision, `x-copy` of a copy."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind=kind, namespace=namespace, deleted_at=None
    )
    taken = set(rows.filter(name__startswith=name[:200]).values_list("name", flat=True))
    if not origin.is_revision:
        stem, numbers = f"{name[:240]}-copy", range(2, len(taken) + 3)
        return next(
            n for n in (stem, *(f"{stem}-{i}" for i in numbers)) if n not in taken
        )
    found = _VERSION.fullmatch(name)
    stem, at = (found["stem"], int(found["n"])) if found else (name[:240], 1)
    rows = rows.filter(name__startswith=f"{stem}-v")
    taken = set(rows.values_list("name", flat=True))
    numbers = range(at + 1, at + len(taken) + 2)
    return next(n for n in (f"{stem}-v{i}" for i in numbers) if n not in taken)


def difference(origin: Origin, text: str) -> str:
    """Return the unified diff from what a form was begun from to what it says now."""
    name = f"{origin.manifest['metadata']['name']}.yaml"
    return unified(dump(ordered(origin.manifest)), text, name)


def change_of(row: ClaimRequest) -> str:
    """Return the unified diff from what a request is a new version of to itself.

    "" where it is none, or that was another tenant's.
    """
    old = row.revises
    if old is None or old.tenant_id != row.tenant_id:
        return ""
    if not {old.plan.kind, row.plan.kind} <= set(KINDS):
        return ""
    before, after = (
        dump(ordered(cleaned(each.plan.manifest, keep=_ASKED))) for each in (old, row)
    )
    return unified(before, after, f"{old.plan.name}.yaml")
