"""An AdmissionReview as a value, and the answer to one.

Source: admission.k8s.io/v1 AdmissionReview. A review carries the object as it will
be stored, defaulted, in the version that the webhook's rule names.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from claims.domain.manifest import claim_spec
from inventory.domain.convert import to_v1

Json = dict[str, Any]

API_VERSION = "admission.k8s.io/v1"
DRA_GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
CLAIM = "ResourceClaim"
TEMPLATE = "ResourceClaimTemplate"
DEVICE_CLASS = "DeviceClass"
POD = "Pod"
KINDS = {
    (DRA_GROUP, CLAIM),
    (DRA_GROUP, TEMPLATE),
    (DRA_GROUP, DEVICE_CLASS),
    ("", POD),
}
EXTRA_KEY = "slicewise.io/request-id"
# Who makes claims out of templates, and claims for extended resources.
CONTROLLERS = frozenset(
    {
        "system:serviceaccount:kube-system:resource-claim-controller",
        "system:kube-controller-manager",
        "system:kube-scheduler",
    }
)


class BadReview(ValueError):
    """What was sent is no AdmissionReview that we answer; the text says what to send."""


@dataclass(frozen=True, slots=True)
class Review:
    """One request to admit an object.

    Attributes:
        uid: the review's own, which the answer carries.
        version: of the object as it was sent; patches are made against it.
        body: the object in its v1 shape.
        raw: the object as it was sent.
    """

    uid: str
    kind: str
    version: str
    operation: str
    namespace: str
    name: str
    username: str
    groups: tuple[str, ...]
    extra: dict[str, tuple[str, ...]]
    dry_run: bool
    body: Json
    raw: Json = field(default_factory=dict)

    @property
    def request_id(self) -> str:
        """The portal's own mark: the id of the claim request, or ""."""
        return next(iter(self.extra.get(EXTRA_KEY, ())), "")

    @property
    def by_controller(self) -> bool:
        """Whether Kubernetes' own controllers make it, not a person."""
        return self.username in CONTROLLERS

    @property
    def labels(self) -> dict[str, str]:
        """The object's labels."""
        return dict((self.body.get("metadata") or {}).get("labels") or {})

    @property
    def object_uid(self) -> str:
        """The object's uid; "" where the API server has not given it one yet."""
        return str((self.body.get("metadata") or {}).get("uid") or "")


def read_review(document: Any) -> Review:
    """Return the review that a decoded body holds.

    Raises:
        BadReview: It is none, or of a kind or version that we do not judge.
    """
    if not isinstance(document, dict):
        raise BadReview("Send an AdmissionReview as a JSON object.")
    if document.get("apiVersion") != API_VERSION or (
        document.get("kind") != "AdmissionReview"
    ):
        raise BadReview(
            f"Send kind AdmissionReview of {API_VERSION}: set admissionReviewVersions"
            ' to ["v1"].'
        )
    request = _mapping(document, "request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise BadReview("request.uid is missing: the answer must carry it.")
    group, version, kind = _kind(request)
    raw = _mapping(request, "object")
    user = _mapping(request, "userInfo")
    _check_shape(raw, kind)
    body = to_v1({**raw, "apiVersion": f"{group}/{version}" if group else version})
    body = {**body, "kind": kind}
    if kind in {CLAIM, TEMPLATE}:
        _check_claim(claim_spec(body))
    return Review(
        uid=uid,
        kind=kind,
        version=version,
        operation=str(request.get("operation") or ""),
        namespace=str(request.get("namespace") or ""),
        name=str(request.get("name") or raw["metadata"].get("name") or ""),
        username=str(user.get("username") or ""),
        groups=tuple(map(str, _list(user.get("groups")))),
        extra=_extra(user.get("extra")),
        dry_run=request.get("dryRun") is True,
        body=body,
        raw=raw,
    )


def _kind(request: Json) -> tuple[str, str, str]:
    told = _mapping(request, "kind")
    group, version = str(told.get("group") or ""), str(told.get("version") or "")
    kind = str(told.get("kind") or "")
    if (group, kind) not in KINDS:
        raise BadReview(
            f"{kind or 'This kind'} of {group or 'the core group'} is not judged here:"
            " take it out of the webhook's rules."
        )
    if version not in (VERSIONS if group else ("v1",)):
        raise BadReview(
            f"{group}/{version} cannot be read here: use one of {', '.join(VERSIONS)}."
        )
    return group, version, kind


def _check_shape(raw: Json, kind: str) -> None:
    for key in ("metadata", "spec"):
        if not isinstance(raw.get(key), dict):
            raise BadReview(f"request.object.{key} is missing or no object.")
    if kind == TEMPLATE and not isinstance(raw["spec"].get("spec", {}), dict):
        raise BadReview("request.object.spec.spec is no object.")


# Of a request in any version: what is read of it, and of what type it is.
_TYPES: dict[str, type] = {
    "selectors": list,
    "tolerations": list,
    "capacity": dict,
    "deviceClassName": str,
    "count": int,
}


def _check_claim(spec: Json) -> None:
    """Refuse a claim that no API server would send, before anything walks it."""
    devices = spec.get("devices") or {}
    if not isinstance(devices, dict):
        raise BadReview("spec.devices is no object.")
    for request in _objects(devices.get("requests"), "spec.devices.requests"):
        if not isinstance(request.get("name", ""), str):
            raise BadReview("The name of a request is no text.")
        exactly = [request["exactly"]] if request.get("exactly") else []
        _check_asks(exactly, "exactly")
        _check_asks(request.get("firstAvailable"), "firstAvailable")
    for key in ("constraints", "config"):
        _objects(devices.get(key), f"spec.devices.{key}")


def _check_asks(value: Any, name: str) -> None:
    for ask in _objects(value, name):
        for key, wanted in _TYPES.items():
            if ask.get(key) is not None and not isinstance(ask[key], wanted):
                raise BadReview(f"{key} of {name} is of the wrong type.")
        for selector in _objects(ask.get("selectors"), "selectors"):
            if not isinstance(selector.get("cel") or {}, dict):
                raise BadReview("cel of a selector is no object.")
        amounts = (ask.get("capacity") or {}).get("requests") or {}
        if not isinstance(amounts, dict):
            raise BadReview("capacity.requests is no object.")


def _objects(value: Any, name: str) -> list[Json]:
    items = [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise BadReview(f"{name} is no list of objects.")
    return items


def _extra(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        return {}
    return {str(key): tuple(map(str, _list(values))) for key, values in value.items()}


def _mapping(parent: Json, key: str) -> Json:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise BadReview(f"request: {key} is missing or no object.")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a review.

    Attributes:
        message: why it is denied, and what to do.
        warnings: what the person is told although it is admitted.
        patch: JSON Patch operations against the object as it was sent.
    """

    allowed: bool
    message: str = ""
    warnings: tuple[str, ...] = ()
    patch: tuple[Json, ...] = ()

    def document(self, uid: str) -> Json:
        """Return the AdmissionReview that answers the one of this uid."""
        response: Json = {"uid": uid, "allowed": self.allowed}
        if not self.allowed:
            response["status"] = {
                "code": 403,
                "reason": "Forbidden",
                "message": self.message,
            }
        if self.warnings:
            response["warnings"] = list(self.warnings)
        if self.patch:
            text = json.dumps(list(self.patch), separators=(",", ":"))
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(text.encode()).decode()
        return {
            "apiVersion": API_VERSION,
            "kind": "AdmissionReview",
            "response": response,
        }
