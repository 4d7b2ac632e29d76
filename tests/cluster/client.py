"""A small client of a Kubernetes API server, for the harness and the contract tests.

It knows paths, verbs and Status objects and nothing else: what the server says comes back
as it was said, so that a test can look at it.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

Object = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

DRA = "/apis/resource.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "Event": ("/api/v1", "events", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "DeviceClass": (DRA, "deviceclasses", False),
    "ResourceSlice": (DRA, "resourceslices", False),
    "ResourceClaim": (DRA, "resourceclaims", True),
    "ResourceClaimTemplate": (DRA, "resourceclaimtemplates", True),
    "DeviceTaintRule": (DRA, "devicetaintrules", False),
    "Role": (RBAC, "roles", True),
    "RoleBinding": (RBAC, "rolebindings", True),
    "ClusterRole": (RBAC, "clusterroles", False),
    "ClusterRoleBinding": (RBAC, "clusterrolebindings", False),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "ClusterPolicy": ("/apis/nvidia.com/v1", "clusterpolicies", False),
    "GPUCluster": ("/apis/nvidia.com/v1alpha1", "gpuclusters", False),
    "CustomResourceDefinition": (
        "/apis/apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        False,
    ),
    "ValidatingAdmissionPolicy": (ADMISSION, "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (
        ADMISSION,
        "validatingadmissionpolicybindings",
        False,
    ),
}


def path_of(kind: str, namespace: str | None = None, name: str | None = None) -> str:
    """Return the path of a kind's collection, or of one object in it."""
    prefix, plural, namespaced = PATHS[kind]
    parts = [prefix]
    if namespaced and namespace:
        parts.append(f"namespaces/{namespace}")
    parts.append(plural)
    if name:
        parts.append(name)
    return "/".join(parts)


class Refused(Exception):
    """The server answered with an error; `status` is its Status object."""

    def __init__(self, code: int, status: Object) -> None:
        """Keep the HTTP code and the Status object."""
        super().__init__(f"{code} {status.get('reason')}: {status.get('message')}")
        self.code = code
        self.status = status

    @property
    def reason(self) -> str:
        """Return the machine-readable word, such as NotFound."""
        return str(self.status.get("reason", ""))

    @property
    def message(self) -> str:
        """Return the server's sentence."""
        return str(self.status.get("message", ""))

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """Return each cause as (reason, field, message), in the server's order."""
        causes = (self.status.get("details") or {}).get("causes") or []
        return [
            (c.get("reason", ""), c.get("field", ""), c.get("message", ""))
            for c in causes
        ]

    @property
    def fields(self) -> set[str]:
        """Return the paths that the causes name."""
        return {name for _, name, _ in self.causes}


def decoded(response: httpx.Response) -> Object:
    """Return the JSON of an answer.

    Raises:
        Refused: It is an error; an answer that is no Status becomes one.
    """
    if not response.is_error:
        return dict(response.json())
    try:
        status = dict(response.json())
    except ValueError:
        status = {"reason": "", "message": response.text.strip()}
    raise Refused(response.status_code, status)


def _clean(params: dict[str, Any]) -> dict[str, str]:
    """Return query parameters as the API server reads them: no None, lower-case booleans."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in params.items()
        if value is not None
    }


def _path_to(target: Object, subresource: str = "") -> str:
    metadata = target["metadata"]
    path = path_of(target["kind"], metadata.get("namespace"), metadata["name"])
    return f"{path}/{subresource}" if subresource else path


@dataclass(slots=True)
class Client:
    """One identity at one API server."""

    base_url: str
    token: str | None = None
    ca_file: Path | None = None
    headers: tuple[tuple[str, str], ...] = ()
    _http: httpx.Client | None = None

    def __enter__(self) -> Client:
        """Return itself; leaving closes the connections."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def acting_as(
        self, user: str, groups: tuple[str, ...] = (), **extra: str
    ) -> Client:
        """Return a client that impersonates; extra keys arrive percent-encoded as given."""
        pairs = [("Impersonate-User", user)]
        pairs += [("Impersonate-Group", group) for group in groups]
        pairs += [(f"Impersonate-Extra-{key}", value) for key, value in extra.items()]
        return Client(self.base_url, self.token, self.ca_file, tuple(pairs), self.http)

    @property
    def http(self) -> httpx.Client:
        """Return the connection pool, made when first needed, shared with acting_as().

        Nothing compressed is asked for: a server of 1.37 compresses a watch with initial
        events as one gzip member a flush, and httpx reads the first member only.
        """
        if self._http is None:
            verify = (
                ssl.create_default_context(cafile=self.ca_file)
                if self.ca_file
                else True
            )
            self._http = httpx.Client(
                base_url=self.base_url,
                verify=verify,
                timeout=60,
                headers={"Accept-Encoding": "identity"},
            )
        return self._http

    def _headers(self, content_type: str | None = None) -> list[tuple[str, str]]:
        pairs = list(self.headers)
        if self.token:
            pairs.append(("Authorization", f"Bearer {self.token}"))
        if content_type:
            pairs.append(("Content-Type", content_type))
        return pairs

    def request(
        self, method: str, path: str, body: Any = None, **params: Any
    ) -> httpx.Response:
        """Return the raw response of one call; `body` is sent as JSON, bytes as they are."""
        content_type = params.pop("content_type", "application/json")
        if body is None:
            content, content_type = None, None
        else:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.request(
            method,
            path,
            content=content,
            headers=self._headers(content_type),
            params=_clean(params),
        )

    def call(self, method: str, path: str, body: Any = None, **params: Any) -> Object:
        """Return the decoded answer.

        Raises:
            Refused: The server answered with an error.
        """
        return decoded(self.request(method, path, body, **params))

    def list(self, kind: str, namespace: str | None = None, **params: Any) -> Object:
        """Return a list object; `params` are the query's (limit, fieldSelector, …)."""
        return self.call("GET", path_of(kind, namespace), **params)

    def get(
        self, kind: str, name: str, namespace: str | None = None, **params: Any
    ) -> Object:
        """Return one object."""
        return self.call("GET", path_of(kind, namespace, name), **params)

    def create(self, manifest: Object, **params: Any) -> Object:
        """Create an object where its kind and namespace say; returns what is stored."""
        namespace = manifest.get("metadata", {}).get("namespace")
        return self.call(
            "POST", path_of(manifest["kind"], namespace), manifest, **params
        )

    def replace(self, manifest: Object, subresource: str = "", **params: Any) -> Object:
        """Update an object, or its subresource ("status")."""
        return self.call("PUT", _path_to(manifest, subresource), manifest, **params)

    def patch(
        self, target: Object, change: Any, subresource: str = "", **params: Any
    ) -> Object:
        """Patch the object that `target` names; a merge patch unless content_type says else."""
        params.setdefault("content_type", MERGE_PATCH)
        return self.call("PATCH", _path_to(target, subresource), change, **params)

    def delete(
        self, target: Object, options: Object | None = None, **params: Any
    ) -> Object:
        """Delete the object that `target` names; `options` is a DeleteOptions body."""
        return self.call("DELETE", _path_to(target), options, **params)

    @contextmanager
    def watch(
        self, kind: str, namespace: str | None = None, **params: Any
    ) -> Iterator[Iterator[Object]]:
        """Open a watch; yields an iterator over its events, which ends with the watch."""
        params.setdefault("timeoutSeconds", 30)
        query = _clean({"watch": True} | params)
        with self.http.stream(
            "GET", path_of(kind, namespace), params=query, headers=self._headers()
        ) as response:
            if response.is_error:
                response.read()
                decoded(response)
            yield (json.loads(line) for line in response.iter_lines() if line)

    def can(
        self,
        verb: str,
        resource: str,
        namespace: str = "",
        group: str = "resource.k8s.io",
        **more: str,
    ) -> bool:
        """Return what a SelfSubjectAccessReview says of the identity."""
        attributes = {
            "verb": verb,
            "resource": resource,
            "namespace": namespace,
            "group": group,
        } | more
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self.call(
            "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review
        )
        return bool(answer["status"]["allowed"])
