"""Who may set the label of administrative access, as RBAC says."""

from __future__ import annotations

import pytest

from portal.approvals.services.labelling import Setter, setters_of


def role(name, *, verbs=("patch",), resources=("namespaces",), groups=("",), space=""):
    return {
        "kind": "Role" if space else "ClusterRole",
        "metadata": {"name": name, **({"namespace": space} if space else {})},
        "rules": [
            {
                "apiGroups": list(groups),
                "resources": list(resources),
                "verbs": list(verbs),
            }
        ],
    }


def binding(name, to, *subjects, kind="ClusterRole", space=""):
    return {
        "kind": "RoleBinding" if space else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": space} if space else {})},
        "roleRef": {"kind": kind, "name": to},
        "subjects": list(subjects),
    }


DORA = {"kind": "User", "name": "dora"}


@pytest.mark.parametrize(
    ("rule", "may"),
    [
        ({}, True),
        ({"verbs": ["update"]}, True),
        ({"verbs": ["*"], "resources": ["*"], "groups": ["*"]}, True),
        ({"verbs": ["get", "list", "create", "delete"]}, False),
        ({"resources": ["pods"]}, False),
        ({"groups": ["apps"]}, False),
    ],
)
def test_whoever_may_update_or_patch_namespaces_may_label_them(rule, may):
    found = setters_of([role("r", **rule)], [binding("b", "r", DORA)])

    assert found == ([Setter("User dora", "ClusterRoleBinding b")] if may else [])


def test_a_binding_of_a_namespace_is_for_it_alone():
    found = setters_of(
        [role("r"), role("own", space="ai")],
        [
            binding("wide", "r", DORA, space="gpu"),
            binding("narrow", "own", DORA, kind="Role", space="ai"),
            # A Role of another namespace is none of this one's.
            binding("astray", "own", DORA, kind="Role", space="gpu"),
        ],
    )

    assert {(each.by, each.within) for each in found} == {
        ("RoleBinding wide", "gpu"),
        ("RoleBinding narrow", "ai"),
    }


def test_subjects_of_every_kind_are_named_and_what_is_missing_harms_nothing():
    ci = {"kind": "ServiceAccount", "name": "ci", "namespace": "build"}
    masters = {"kind": "Group", "name": "system:masters"}
    empty = {"kind": "ClusterRole", "metadata": {"name": "empty"}, "rules": None}
    nobody = {"kind": "ClusterRoleBinding", "metadata": {"name": "nobody"}}

    found = setters_of([role("r"), empty], [binding("b", "r", masters, ci), nobody])

    assert [each.subject for each in found] == [
        "Group system:masters",
        "ServiceAccount build/ci",
    ]
