"""Who asks, whom they act as, and what RBAC says of it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from simcluster.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    Object,
)
from simcluster.refusals import Refusal, bad_request
from simcluster.storage import Store

MASTERS, AUTHENTICATED = "system:masters", "system:authenticated"
_IDENTITIES = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class User:
    """An identity."""

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    extra: Mapping[str, list[str]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


class Action(NamedTuple):
    """What somebody wants to do with a resource."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def read_tokens(path: Path) -> dict[str, User]:
    """Return the user of each token in a file of `--token-auth-file`'s format."""
    with path.open(newline="") as handle:
        rows = [row for row in csv.reader(handle) if row]
    return {
        token: User(name, (*filter(None, ",".join(rest).split(",")), AUTHENTICATED))
        for token, name, _, *rest in rows
    }


class Access:
    """Authentication by token, authorization by the stored RBAC objects."""

    def __init__(self, store: Store, tokens: Mapping[str, User]) -> None:
        """Take the store that the RBAC objects lie in."""
        self._store, self._tokens = store, tokens

    def identify(self, authorization: str, pairs: list[tuple[str, str]]) -> User:
        """Return who a request is made as; `pairs` are its headers, repeated ones too.

        Raises:
            Refusal: The token is unknown, or the user may not act as whom they name.
        """
        kind, _, token = authorization.partition(" ")
        user = ANONYMOUS
        if kind.lower() == "bearer":
            if token not in self._tokens:
                raise Refusal(401, "Unauthorized", "Unauthorized")
            user = self._tokens[token]
        return self._impersonated(user, pairs)

    def reason(self, user: User, action: Action) -> str | None:
        """Return why an action is allowed, or None where it is not."""
        if MASTERS in user.groups:
            return ""
        for kind, binding, rules in self._rules(action.namespace):
            subject = _subject(binding, user)
            if subject and any(_allows(rule, action) for rule in rules):
                name, role = binding["metadata"]["name"], binding["roleRef"]
                return (
                    f'RBAC: allowed by {kind} "{name}" of {role["kind"]} "{role["name"]}"'
                    f" to {subject}"
                )
        return None

    def demand(self, user: User, action: Action) -> None:
        """Do nothing if an action is allowed.

        Raises:
            Refusal: It is not.
        """
        if self.reason(user, action) is not None:
            return
        verb, group, resource, namespace, name, subresource = action
        full = f"{resource}.{group}" if group else resource
        subject = f'{full} "{name}"' if name else full
        where = (
            f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        )
        what = f"{resource}/{subresource}" if subresource else resource
        told = {"name": name, "group": group, "kind": resource}
        raise Refusal(
            403,
            "Forbidden",
            f'{subject} is forbidden: User "{user.name}" cannot {verb} resource "{what}"'
            f' in API group "{group}" {where}',
            {key: value for key, value in told.items() if value},
        )

    def _rules(self, namespace: str) -> Iterator[tuple[str, Object, list[Object]]]:
        bindings = [
            (CLUSTER_ROLE_BINDING, b) for b in self._store.items(CLUSTER_ROLE_BINDING)
        ]
        if namespace:
            bindings += [
                (ROLE_BINDING, b) for b in self._store.items(ROLE_BINDING, namespace)
            ]
        for kind, binding in bindings:
            role = binding["roleRef"]
            if role["kind"] == CLUSTER_ROLE.name:
                found = self._store.get(CLUSTER_ROLE, role["name"])
            else:
                found = self._store.get(ROLE, role["name"], namespace)
            yield kind.name, binding, (found or {}).get("rules") or []

    def _impersonated(self, user: User, pairs: list[tuple[str, str]]) -> User:
        asked = [
            (k.lower(), v) for k, v in pairs if k.lower().startswith("impersonate-")
        ]
        name = next((v for k, v in asked if k == "impersonate-user"), "")
        groups = tuple(v for k, v in asked if k == "impersonate-group")
        extra: dict[str, list[str]] = {}
        for key, value in asked:
            if key.startswith("impersonate-extra-"):
                extra.setdefault(
                    unquote(key.removeprefix("impersonate-extra-")), []
                ).append(value)
        if not asked:
            return user
        if not name:
            raise bad_request(
                f"requested {list(groups)} without impersonating a user name"
            )
        self.demand(user, Action("impersonate", "", "users", name=name))
        for group in groups:
            self.demand(user, Action("impersonate", "", "groups", name=group))
        for key, values in extra.items():
            for value in values:
                action = Action(
                    "impersonate", _IDENTITIES, "userextras", "", value, key
                )
                self.demand(user, action)
        return User(name, tuple(dict.fromkeys((*groups, AUTHENTICATED))), extra)


def _subject(binding: Object, user: User) -> str:
    for subject in binding.get("subjects") or []:
        kind, name = subject["kind"], subject["name"]
        if kind == "ServiceAccount":
            name = f"system:serviceaccount:{subject.get('namespace', '')}:{name}"
        if name == user.name if kind != "Group" else name in user.groups:
            return f'{kind} "{name}"'
    return ""


def _allows(rule: Object, action: Action) -> bool:
    what = action.resource
    names = rule.get("resourceNames")
    if action.subresource:
        what = f"{action.resource}/{action.subresource}"
    return (
        bool({"*", action.verb} & set(rule.get("verbs") or ()))
        and bool({"*", action.group} & set(rule.get("apiGroups") or ()))
        and bool(
            {"*", what, f"*/{action.subresource}"} & set(rule.get("resources") or ())
        )
        and (not names or action.name in names)
    )
