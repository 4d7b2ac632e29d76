"""Administrative access from its approval to its end, on real control planes.

The tests of tests/integration/approvals/test_ending.py, against the real API
server, scheduler and controller-manager of the oldest and newest minor.
"""

from __future__ import annotations

import pytest

from tests.cluster import credentials
from tests.cluster.controlplane import ControlPlane
from tests.integration.approvals.conftest import (  # noqa: F401  fixtures
    ada,
    asked,
    clean,
    granted,
    observe,
    say,
)
from tests.integration.approvals.test_deciding import (  # noqa: F401
    test_rbac_has_the_last_word_when_it_is_applied,
    test_the_label_is_checked_again_when_it_is_applied,
)
from tests.integration.approvals.test_ending import (  # noqa: F401
    test_a_pod_that_does_not_end_keeps_it_from_being_released,
    test_at_its_end_everything_that_used_it_is_gone,
    test_each_write_is_recorded_under_its_id_in_the_servers_audit_log,
    test_it_ends_although_its_requester_has_lost_every_right,
    test_taking_the_label_away_ends_nothing_but_revoking_does,
)
from tests.integration.claims.conftest import cluster  # noqa: F401  fixtures
from tests.integration.claims.objects import prepared

pytestmark = [pytest.mark.cluster, pytest.mark.django_db]


@pytest.fixture(scope="module", params=["1.34.4", "1.37.2"])
def kubeconfigs(request):
    """Yield the kubeconfigs of a control plane's administrator and of the portal."""
    with ControlPlane(request.param) as plane:
        names = (credentials.ADMIN, "slicewise")
        yield tuple(plane.kubeconfig(name).read_text() for name in names)


@pytest.fixture(scope="module")
def admin(kubeconfigs):
    return prepared(kubeconfigs[0])
