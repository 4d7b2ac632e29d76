"""What is installed in a cluster: two webhook configurations, a policy, its binding.

Rules that fail closed and rules that fail open are two webhooks, so that each rule
behaves as its own failurePolicy says when the portal is down. Match conditions keep
everything else away from the portal.

Source: admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from portal.admission.domain.fallback import OPT_OUT, OPT_OUT_LABEL
from portal.admission.domain.guards import (
    FailurePolicy,
    GuardKind,
    GuardMode,
    GuardRule,
)
from portal.admission.domain.review import CONTROLLERS, DRA_GROUP, EXTRA_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = dict[str, Any]

API_VERSION = "admissionregistration.k8s.io/v1"
NAME = "slicewise"
POLICY_NAME = "slicewise-admin-access"
TIMEOUT_SECONDS = 2
VALIDATE_PATH, MUTATE_PATH = "/admission/validate", "/admission/mutate"
# Namespaces that are left alone, so that the cluster can always heal itself.
EXEMPT = ("kube-system", "slicewise")

_REQUESTS = (
    '(object.kind == "ResourceClaimTemplate" ? object.spec.spec : object.spec)'
    ".?devices.?requests.orValue([])"
)
_ADMIN = f"{_REQUESTS}.exists(r, r.?exactly.?adminAccess.orValue(false))"
_IS_CLAIM = 'request.resource.group == "resource.k8s.io"'
_IS_CLASS = 'request.resource.resource == "deviceclasses"'
_RESOURCES = {
    "claims": (DRA_GROUP, ["resourceclaims", "resourceclaimtemplates"], ["CREATE"]),
    "classes": (DRA_GROUP, ["deviceclasses"], ["CREATE", "UPDATE"]),
    "pods": ("", ["pods"], ["CREATE"]),
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the API server finds us: a Service, or an address of its own.

    Attributes:
        url: such as https://127.0.0.1:9443; "" for the Service.
        cluster: the cluster's name in the portal; "" where it has only one.
    """

    service: str = "slicewise-admission"
    namespace: str = "slicewise"
    port: int = 443
    url: str = ""
    cluster: str = ""
    ca_bundle: str = ""

    def client_config(self, path: str, suffix: str = "") -> Json:
        """Return a clientConfig for one of our paths."""
        parts = [path, *([self.cluster] if self.cluster else [])]
        whole = "/".join([*parts, *([suffix] if suffix else [])])
        where: Json = {"url": self.url.rstrip("/") + whole}
        if not self.url:
            where = {
                "service": {
                    "name": self.service,
                    "namespace": self.namespace,
                    "path": whole,
                    "port": self.port,
                }
            }
        return {**where, **({"caBundle": self.ca_bundle} if self.ca_bundle else {})}


def manifests(
    rules: Iterable[GuardRule],
    address: Address,
    *,
    pods: bool = False,
    admin_namespaces: Sequence[str] = (),
    exempt: Sequence[str] = EXEMPT,
) -> list[Json]:
    """Return all that is installed, in the order in which to install it.

    Args:
        rules: those in force; what is off is left out.
        address: where we are.
        pods: whether pods that ask for extended GPU resources are judged.
        admin_namespaces: where adminAccess may be had at all.
        exempt: namespaces that the webhooks leave alone; the policy does not.
    """
    live = [rule for rule in rules if rule.mode is not GuardMode.OFF]
    return [
        *roles(address.namespace),
        policy(admin_namespaces),
        policy_binding(),
        validating(live, address, pods=pods, exempt=exempt),
        mutating(address, exempt=exempt),
    ]


def roles(namespace: str) -> list[Json]:
    """Return the one right that the portal's own account needs: to renew the caBundle."""
    group = "rbac.authorization.k8s.io"
    name = "slicewise:admission"
    metadata = {"name": name, "labels": {"app.kubernetes.io/managed-by": "slicewise"}}
    rule = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ],
        "resourceNames": [NAME],
        "verbs": ["get", "patch"],
    }
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata}
    return [
        {**role, "rules": [rule]},
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [
                {"kind": "ServiceAccount", "name": "slicewise", "namespace": namespace}
            ],
        },
    ]


def validating(
    rules: Sequence[GuardRule],
    address: Address,
    *,
    pods: bool,
    exempt: Sequence[str] = EXEMPT,
) -> Json:
    """Return the ValidatingWebhookConfiguration: one webhook a failure policy."""
    webhooks = []
    for failure in FailurePolicy:
        of = [rule for rule in rules if rule.failure_policy is failure]
        if not of:
            continue
        webhooks.append(
            {
                **_webhook(f"guard-{failure.lower()}", failure, exempt),
                "clientConfig": address.client_config(VALIDATE_PATH, failure.lower()),
                "matchConditions": [
                    {"name": "concerns-a-rule", "expression": _any_condition(of)}
                ],
                "rules": _rules(of, pods=pods),
            }
        )
    return _object("ValidatingWebhookConfiguration", NAME, webhooks=webhooks)


def mutating(address: Address, *, exempt: Sequence[str] = EXEMPT) -> Json:
    """Return the MutatingWebhookConfiguration: fallbacks, and the advisor's word."""
    portal = f'!("{EXTRA_KEY}" in request.userInfo.?extra.orValue({{}}))'
    opted = f'object.metadata.?labels["{OPT_OUT_LABEL}"].orValue("") != "{OPT_OUT}"'
    exactly = f"{_REQUESTS}.exists(r, has(r.exactly))"
    webhook = {
        **_webhook("fallback", FailurePolicy.IGNORE, exempt),
        "clientConfig": address.client_config(MUTATE_PATH),
        "matchConditions": [
            {"name": "not-of-the-portal", "expression": portal},
            {"name": "not-opted-out", "expression": opted},
            {"name": "has-no-alternatives-yet", "expression": exactly},
        ],
        "reinvocationPolicy": "IfNeeded",
        "rules": [_rule(DRA_GROUP, ["resourceclaims"], ["CREATE"])],
    }
    return _object("MutatingWebhookConfiguration", NAME, webhooks=[webhook])


def _webhook(name: str, failure: FailurePolicy, exempt: Sequence[str]) -> Json:
    return {
        "name": f"{name}.slicewise.io",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": failure.value,
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": list(exempt),
                }
            ]
        },
    }


def _rules(rules: Sequence[GuardRule], *, pods: bool) -> list[Json]:
    wanted = {"claims"}
    if any(rule.kind is GuardKind.DIAGNOSTICS for rule in rules):
        wanted.add("classes")
    if pods and any(rule.kind in _OF_PODS for rule in rules):
        wanted.add("pods")
    return [_rule(*_RESOURCES[name]) for name in _RESOURCES if name in wanted]


_OF_PODS = {GuardKind.LIMITS, GuardKind.FORBIDDEN, GuardKind.BUDGETS}


def _rule(group: str, resources: list[str], operations: list[str]) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": operations,
        "resources": resources,
        "scope": "*",
    }


def _any_condition(rules: Sequence[GuardRule]) -> str:
    return " || ".join(dict.fromkeys(_condition(rule) for rule in rules))


def _condition(rule: GuardRule) -> str:
    """Return when a rule may have anything to say, as CEL."""
    if rule.kind is GuardKind.ADMIN_ACCESS:
        return f"({_IS_CLAIM} && !({_IS_CLASS}) && {_ADMIN})"
    if rule.kind is GuardKind.DIAGNOSTICS:
        return f"({_IS_CLAIM})"
    extended = 'object.spec.containers.exists(c, c.?resources.?limits.orValue({}).exists(k, k.contains("/")))'
    of_pod = f'request.resource.resource == "pods" && {extended}'
    return f"({_IS_CLAIM} && !({_IS_CLASS})) || ({of_pod})"


def policy(admin_namespaces: Sequence[str] = ()) -> Json:
    """Return the ValidatingAdmissionPolicy: the wall that stands without the portal."""
    allowed = json.dumps(list(admin_namespaces))
    controllers = json.dumps(sorted(CONTROLLERS))
    generated = '"resource.kubernetes.io/pod-claim-name"'
    return _object(
        "ValidatingAdmissionPolicy",
        POLICY_NAME,
        spec={
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "resourceRules": [
                    _rule(
                        DRA_GROUP,
                        ["resourceclaims", "resourceclaimtemplates"],
                        ["CREATE"],
                    )
                ],
            },
            "variables": [
                {"name": "admin", "expression": _ADMIN},
                {
                    "name": "portal",
                    "expression": f'"{EXTRA_KEY}" in request.userInfo.?extra.orValue({{}})',
                },
                {
                    "name": "controller",
                    "expression": f"request.userInfo.username in {controllers}",
                },
                {
                    "name": "generated",
                    "expression": f"{generated} in object.metadata.?annotations.orValue({{}})",
                },
                {"name": "namespaces", "expression": f"{allowed}"},
            ],
            "validations": [
                _validation(
                    "!variables.admin || request.namespace in variables.namespaces",
                    "adminAccess is not allowed in this namespace: ask for it in a"
                    " namespace that slicewise-admin-access lists.",
                ),
                _validation(
                    "!variables.admin || variables.portal || variables.controller",
                    "adminAccess is only to be had through the portal: compose the claim"
                    " there and have it approved.",
                ),
                _validation(
                    "!variables.generated || variables.controller",
                    "A claim with the annotation resource.kubernetes.io/pod-claim-name is"
                    " made by Kubernetes alone: leave the annotation out.",
                ),
                _validation(
                    '!variables.admin || variables.portal || object.kind == "ResourceClaim"',
                    "A template with adminAccess is only to be made through the portal:"
                    " compose it there and have it approved.",
                ),
            ],
        },
    )


def _validation(expression: str, message: str) -> Json:
    return {"expression": expression, "message": message, "reason": "Forbidden"}


def policy_binding() -> Json:
    """Return the binding that puts the policy in force everywhere."""
    spec = {"policyName": POLICY_NAME, "validationActions": ["Deny"]}
    return _object("ValidatingAdmissionPolicyBinding", POLICY_NAME, spec=spec)


def _object(kind: str, name: str, **more: Any) -> Json:
    metadata = {"name": name, "labels": {"app.kubernetes.io/managed-by": "slicewise"}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **more}
