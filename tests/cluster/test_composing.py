"""What was composed, as a real control plane of the newest minor has it.

ComputeDomains go from their form to their end by the tests of
tests/integration/claims/test_domains.py; NVIDIA's controller is played by its rules.
"""

from __future__ import annotations

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.services.working import work_on
from claims.services.writing import from_yaml, manifest_of
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import ClusterForbidden, NotFound
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call, call
from tests.cluster import credentials
from tests.cluster.controlplane import ControlPlane
from tests.cluster.domains import tended_domains
from tests.guides.manifests import compute_domain_crd
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    cluster,
    no_pods,
    observe,
    until,
)
from tests.integration.claims.objects import _binding, _rbac_path, prepared
from tests.integration.claims.test_domains import (  # noqa: F401  fixtures and tests
    ask,
    channels,
    domain,
    test_a_domain_is_applied_followed_and_released,
    test_the_page_previews_submits_and_keeps_what_was_typed,
    test_what_stands_in_the_way_is_said_and_stops_only_where_it_must,
)

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.django_db,
    pytest.mark.usefixtures("no_pods"),
]


@pytest.fixture(scope="module")
def kubeconfigs():
    """Yield the kubeconfigs of a control plane's administrator and of the portal."""
    with ControlPlane("1.37.2") as plane:
        plane.apply([compute_domain_crd()])
        names = (credentials.ADMIN, "slicewise")
        texts = tuple(plane.kubeconfig(name).read_text() for name in names)
        with tended_domains(Kube(connect("domains", texts[0]), AS_ITSELF)):
            yield texts


@pytest.fixture(scope="module")
def admin(kubeconfigs):
    return prepared(kubeconfigs[0])


@pytest.mark.usefixtures("channels")
def test_it_is_made_with_the_rights_of_who_asked(cluster, ada, admin):  # noqa: F811
    asked = ask(ada, cluster, domain())
    body = _binding("ai-serving")
    path = _rbac_path(body)
    call(admin.connection, Call("DELETE", f"{path}/tenant"), ())
    try:
        work_on(asked.pk, now=timezone.now())
        with pytest.raises(ClusterForbidden, match="ada@orchid"):
            ask(ada, cluster, domain())
    finally:
        call(admin.connection, Call("POST", path, body=body), ())
    asked.refresh_from_db()
    assert asked.state == State.APPLY_FAILED
    assert "ada@orchid" in asked.message


WRITTEN = """
# Kept by another controller.
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: NAME
  namespace: ai-serving
  generateName: kept-
  finalizers: [example.com/keep]
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]
      config:
      - opaque:
          driver: example.com
          parameters: {mode: "a < b && c > d 하나", apiVersion: a.example.com/v1, kind: K}
"""
KIND, SPACE = BY_NAME["ResourceClaimTemplate"], "ai-serving"
STRATEGIC = "application/strategic-merge-patch+json"


def test_what_others_left_is_sent_and_what_was_sent_can_be_labelled(
    cluster,  # noqa: F811
    ada,
    admin,
    until,  # noqa: F811
):
    name = domain()["metadata"]["name"]
    written = from_yaml(WRITTEN.replace("NAME", name))
    assert written.kept == ("metadata.generateName", "metadata.finalizers")
    asked = ask(ada, cluster, manifest_of(written.draft))
    assert work_on(asked.pk, now=timezone.now())

    made = admin.get(KIND, name, SPACE)["metadata"]
    assert (made["generateName"], made["finalizers"]) == ("kept-", ["example.com/keep"])
    # As `kubectl label` does: the server writes all of it anew, and the spec is immutable.
    patch = Call(
        "PATCH",
        KIND.path("v1", SPACE, name),
        body={"metadata": {"labels": {"team": "a"}, "finalizers": None}},
        content_type=STRATEGIC,
    )
    assert call(admin.connection, patch, ())["metadata"]["labels"]["team"] == "a"
    # So does whoever ends what is deleted in the foreground.
    admin.delete(KIND, name, SPACE, propagationPolicy="Foreground")
    until(lambda: _is_gone(admin, name))


def _is_gone(kube, name):
    try:
        kube.get(KIND, name, SPACE)
    except NotFound:
        return True
    return False
