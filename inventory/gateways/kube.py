"""The one way to a Kubernetes API server: raw calls, an identity always named.

Objects come back in their kind's v1 shape, with kind and apiVersion. A read is
tried again by the loop that needs it, a write never here: only its caller knows
whether it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from inventory.domain.kinds import BY_NAME, Kind
from inventory.gateways.errors import Invalid, NotFound, NotServed
from inventory.gateways.identity import AS_ITSELF, Identity
from inventory.gateways.transport import LIST_SECONDS, Call, Watch, call, in_v1, send
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inventory.gateways.kubeconfig import Connection

__all__ = ["AS_ITSELF", "Identity", "Kube", "Listing", "Review", "Watch"]

Json = dict[str, Any]

PAGE = 500
FIELD_MANAGER = "slicewise"
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list, whole or one page.

    Attributes:
        items: its objects.
        resource_version: what a watch after it starts from.
        proceed: token of the next page; "" where this is the last.
    """

    items: list[Json]
    resource_version: str
    proceed: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """Whether an identity may do something, and the authorizer's word on it."""

    allowed: bool
    reason: str


class Kube:
    """An API server, spoken to as one identity. Threads may share it."""

    def __init__(self, connection: Connection, identity: Identity) -> None:
        """Take a connection and who to act as.

        Raises:
            BadIdentity: The identity is one that we never act as.
        """
        self.connection = connection
        self.identity = identity
        self._headers = tuple(identity.headers())

    # Reading

    def version(self) -> str:
        """Return the server's version, such as v1.37.2."""
        return str(self._call(Call("GET", "/version")).get("gitVersion", ""))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        """Return one object.

        Raises:
            NotFound: There is none of that name.
        """
        path = self._path(kind, namespace, name)
        return in_v1(self._call(Call("GET", path)), kind)

    def pages(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = PAGE,
    ) -> Iterator[Listing]:
        """Return a list page by page, all of one resourceVersion.

        Args:
            kind: what to list.
            namespace: one namespace, or all.
            label_selector: as in `kubectl get -l`.
            field_selector: as in `kubectl get --field-selector`.
            limit: objects a page.

        Raises:
            WatchExpired: The pages took too long; begin again.
        """
        proceed = ""
        while True:
            query = {
                "limit": str(limit),
                "continue": proceed,
                "labelSelector": label_selector,
                "fieldSelector": field_selector,
            }
            page = self._page(kind, namespace, query)
            yield page
            proceed = page.proceed
            if not proceed:
                return

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        """Return a whole list; see `pages`."""
        items: list[Json] = []
        version = ""
        for page in self.pages(
            kind,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        ):
            items += page.items
            version = page.resource_version
        return Listing(items, version)

    def watch(
        self,
        kind: Kind,
        resource_version: str,
        namespace: str = "",
        *,
        timeout_seconds: int = 300,
        silence_seconds: float = 100,
    ) -> Watch:
        """Open a watch, with bookmarks.

        Args:
            kind: what to watch.
            resource_version: where to begin; that of a list, an object or a bookmark.
            namespace: one namespace, or all.
            timeout_seconds: after which the server ends it.
            silence_seconds: after which we take the connection for dead; a server
                sends a bookmark a minute.

        Raises:
            WatchExpired: That version is too old.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        path = self._path(kind, namespace)
        wanted = Call("GET", path, query, seconds=silence_seconds)
        response = send(self.connection, wanted, self._headers)
        return Watch(response, self.connection, kind)

    def served_kinds(self, kinds: tuple[Kind, ...]) -> dict[str, str]:
        """Return, of these kinds, those that the server has: kind → newest version."""
        found: dict[str, str] = {}
        resources: dict[str, set[str]] = {}
        for kind in kinds:
            for version in kind.versions:
                api = kind.api_version(version)
                if api not in resources:
                    resources[api] = self._resources(kind, version)
                if kind.plural in resources[api]:
                    found[kind.kind] = version
                    break
            self._remember(kind, found.get(kind.kind))
        return found

    def group_versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of an API group that are served; () where none is."""
        try:
            answer = self._call(Call("GET", f"/apis/{_safe(group)}"))
        except NotFound:
            return ()
        return tuple(str(each["version"]) for each in answer.get("versions") or [])

    def review_access(
        self,
        verb: str,
        kind: Kind,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
    ) -> Review:
        """Return whether the identity may do something, without doing it.

        Source: authorization.k8s.io/v1 SelfSubjectAccessReview.
        """
        attributes = {
            "verb": verb,
            "group": kind.group,
            "resource": kind.plural,
            "namespace": namespace if kind.namespaced else "",
            "name": name,
            "subresource": subresource,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        status = self._call(Call("POST", path, body=body)).get("status") or {}
        return Review(bool(status.get("allowed")), str(status.get("reason") or ""))

    # Writing

    def create(self, body: Json, *, dry_run: bool = False, strict: bool = True) -> Json:
        """Create an object and return what is stored, or would be.

        Args:
            body: the object, its namespace in it; never in a version that we only read.
            dry_run: admit and default it, store nothing.
            strict: refuse unknown and duplicate fields.

        Raises:
            AlreadyExists: The name is taken.
            Invalid: It is refused; its causes name the fields.
            ClusterForbidden: RBAC, a quota or admission says no.
        """
        kind, namespace, _name = _address(body)
        query = _write_query(dry_run=dry_run, strict=strict)
        path = kind.path(_version_in(body), _safe(namespace))
        return in_v1(self._call(Call("POST", path, query, body)), kind)

    def update(
        self,
        body: Json,
        *,
        subresource: str = "",
        dry_run: bool = False,
        strict: bool = True,
    ) -> Json:
        """Replace an object, or its subresource, and return what is stored.

        Raises:
            ConflictingVersion: It is no longer at the body's resourceVersion.
        """
        kind, namespace, name = _address(body)
        query = _write_query(dry_run=dry_run, strict=strict)
        path = kind.path(_version_in(body), _safe(namespace), _safe(name))
        path += f"/{subresource}" if subresource else ""
        return in_v1(self._call(Call("PUT", path, query, body)), kind)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Json | Sequence[Json],
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Json:
        """Change an object: a mapping is a merge patch, a list a JSON patch."""
        path = self._path(kind, namespace, name)
        path += f"/{subresource}" if subresource else ""
        content_type = _MERGE_PATCH if isinstance(patch, dict) else _JSON_PATCH
        query = _write_query(dry_run=dry_run, strict=True)
        wanted = Call("PATCH", path, query, patch, content_type)
        return in_v1(self._call(wanted), kind)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        **options: Any,
    ) -> None:
        """Ask for an object to be deleted; it stays while it has finalizers.

        Args:
            kind: its kind.
            name: its name.
            namespace: its namespace.
            uid: delete it only if it is this one.
            **options: of DeleteOptions: gracePeriodSeconds, propagationPolicy, dryRun.

        Raises:
            NotFound: There is none.
            ConflictingVersion: The one of that name has another uid.
        """
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        if uid:
            body["preconditions"] = {"uid": uid}
        self._call(Call("DELETE", self._path(kind, namespace, name), body=body))

    # Inside

    def _path(self, kind: Kind, namespace: str = "", name: str = "") -> str:
        return kind.path(self._version(kind), _safe(namespace), _safe(name))

    def _version(self, kind: Kind) -> str:
        """Return the newest version of a kind that the server has, asking it once."""
        if len(kind.versions) == 1:
            return kind.versions[0]
        known = self.connection.versions.get(kind.kind)
        if known is None:
            known = self.served_kinds((kind,)).get(kind.kind)
        if known is None:
            raise NotServed(
                Said(
                    "cluster.not_served",
                    {"cluster": self.connection.cluster, "kind": kind.kind},
                )
            )
        return known

    def _remember(self, kind: Kind, version: str | None) -> None:
        if version is None:
            self.connection.versions.pop(kind.kind, None)
        else:
            self.connection.versions[kind.kind] = version

    def _resources(self, kind: Kind, version: str) -> set[str]:
        """Return the plurals that the server has in a kind's group at a version."""
        root = "/apis/" if kind.group else "/api/"
        try:
            answer = self._call(Call("GET", root + kind.api_version(version)))
        except NotFound:
            return set()
        return {str(each.get("name")) for each in answer.get("resources") or []}

    def _page(self, kind: Kind, namespace: str, query: dict[str, str]) -> Listing:
        path = self._path(kind, namespace)
        answer = self._call(Call("GET", path, query, seconds=LIST_SECONDS))
        metadata = answer.get("metadata") or {}
        api_version = str(answer.get("apiVersion") or kind.api_version())
        return Listing(
            [
                in_v1({"apiVersion": api_version, **item}, kind)
                for item in answer.get("items") or []
            ],
            str(metadata.get("resourceVersion") or ""),
            str(metadata.get("continue") or ""),
        )

    def _call(self, wanted: Call) -> Json:
        return call(self.connection, wanted, self._headers)


def _write_query(*, dry_run: bool, strict: bool) -> dict[str, str]:
    return {
        "fieldManager": FIELD_MANAGER,
        "fieldValidation": "Strict" if strict else "",
        "dryRun": "All" if dry_run else "",
    }


def _address(body: Json) -> tuple[Kind, str, str]:
    """Return kind, namespace and name ("" where it is generated) of a manifest."""
    kind = BY_NAME.get(str(body.get("kind")))
    if kind is None:
        raise Invalid(Said("cluster.invalid.kind", {"kind": repr(body.get("kind"))}))
    metadata = body.get("metadata") or {}
    namespace = str(metadata.get("namespace") or "")
    if kind.namespaced and not namespace:
        raise Invalid(Said("cluster.invalid.namespace"))
    return kind, namespace, str(metadata.get("name") or "")


def _version_in(body: Json) -> str:
    return str(body.get("apiVersion") or "").rpartition("/")[2]


def _safe(segment: str) -> str:
    """Return a name for a path.

    Raises:
        Invalid: It would lead elsewhere.
    """
    if set(segment) & set("/%?#") or segment in {".", ".."}:
        raise Invalid(Said("cluster.invalid.name", {"name": repr(segment)}))
    return quote(segment, safe=":")
