"""adminAccess: the label that it needs, and what taking it away does not do."""

from __future__ import annotations

import pytest

from tests.contract import objects
from tests.contract.expect import invalid

ADMIN_ACCESS = (
    "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label "
    "on the containing namespace"
)


@pytest.mark.parametrize("make", [objects.claim, objects.template])
@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"resource.k8s.io/admin-access": "true"},
        {"resource.kubernetes.io/admin-access": "True"},
        {"resource.kubernetes.io/admin-access": "false"},
    ],
)
def test_admin_access_needs_exactly_its_label(admin, unique, make, labels):
    namespace = unique("ns")
    admin.create(objects.namespace(namespace, **labels))

    refused = invalid(admin, make("a", namespace, objects.exactly(adminAccess=True)))

    assert refused.causes == [
        (
            "FieldValueForbidden",
            "spec.devices.requests[0].adminAccess",
            f"Forbidden: {ADMIN_ACCESS}",
        )
    ]


@pytest.mark.parametrize("make", [objects.claim, objects.template])
def test_admin_access_with_its_label(admin, unique, make):
    namespace = unique("ns")
    admin.create(
        objects.namespace(namespace, **{"resource.kubernetes.io/admin-access": "true"})
    )

    stored = admin.create(make("a", namespace, objects.exactly(adminAccess=True)))

    assert '"adminAccess": true' in str(stored).replace("'", '"').replace(
        "True", "true"
    )


def test_taking_the_label_away_revokes_nothing(admin, unique):
    namespace = unique("ns")
    space = admin.create(
        objects.namespace(namespace, **{"resource.kubernetes.io/admin-access": "true"})
    )
    claim = admin.create(
        objects.claim("a", namespace, objects.exactly(adminAccess=True))
    )

    admin.patch(
        space, {"metadata": {"labels": {"resource.kubernetes.io/admin-access": None}}}
    )

    changed = admin.patch(claim, {"metadata": {"labels": {"x": "y"}}})
    assert changed["spec"] == claim["spec"]
