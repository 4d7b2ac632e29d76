"""A ComputeDomain asked for like a claim: looked at, applied, followed, released."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress

import pytest
from django.urls import reverse
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.queries.domains import made_domain
from claims.queries.requests import following
from claims.services.releasing import release
from claims.services.requesting import Ask, ChecksRefused, request_claim
from claims.services.starting import start_pod
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import AlreadyExists, NotFound
from tests.integration.claims.conftest import OBSERVED, observe_now

pytestmark = [
    pytest.mark.usefixtures("no_pods"),
    pytest.mark.skipif(
        os.environ.get("SLICEWISE_CLAIMS_API", "sim") != "sim",
        reason="only the simulated cluster plays the controller of ComputeDomains",
    ),
]
DRIVER = "compute-domain.nvidia.com"
KINDS = (*OBSERVED, "ComputeDomain", "ResourceSlice", "Node")


@pytest.fixture
def channels(admin, cluster):
    """Give the cluster's node a channel, a clique and NVIDIA's class for channels."""
    expression = f'device.driver == "{DRIVER}"'
    bodies = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "compute-domain-default-channel.nvidia.com"},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"claims-node-{DRIVER}"},
            "spec": {
                "driver": DRIVER,
                "nodeName": "claims-node",
                "pool": {
                    "name": "claims-node",
                    "generation": 1,
                    "resourceSliceCount": 1,
                },
                "devices": [{"name": "channel-0"}],
            },
        },
    ]
    for body in bodies:
        with suppress(AlreadyExists):
            admin.create(body)
    labels = {"metadata": {"labels": {"nvidia.com/gpu.clique": "fabric.1"}}}
    admin.patch(BY_NAME["Node"], "claims-node", labels)
    see(cluster, admin)


def see(cluster, admin):
    """Do what the watcher does, once."""
    observe_now(cluster, admin, KINDS)
    cluster.refresh_from_db()


def domain(nodes=0, name=""):
    name = name or f"d-{uuid.uuid4().hex[:8]}"
    channel = {"resourceClaimTemplate": {"name": f"{name}-channel"}}
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": "ai-serving"},
        "spec": {"numNodes": nodes, "channel": channel},
    }


def ask(user, cluster, manifest, key=None):
    return request_claim(
        user,
        cluster,
        Ask(manifest),
        key=key or uuid.uuid4(),
        request_id="test-request-id",
        now=timezone.now(),
    )


@pytest.mark.usefixtures("channels")
def test_a_domain_is_applied_followed_and_released(cluster, admin, ada, until, client):
    asked = ask(ada, cluster, domain())
    assert asked.plan.preview["domain"]["verdict"] == "fits"
    assert asked.plan.preview["domain"]["cliques"][0]["clique"] == "fabric.1"

    assert work_on(asked.pk, now=timezone.now())
    asked.refresh_from_db()
    assert (asked.state, asked.message) == (State.ACTIVE, "")
    made = until(lambda: see(cluster, admin) or _with_templates(asked))
    (template,) = made.templates
    assert template["metadata"]["name"] == f"{asked.plan.name}-channel"
    assert made.domain.members == ()

    start_pod(asked)
    ready = until(lambda: see(cluster, admin) or _healthy(asked))
    assert [(each.node, each.clique) for each in ready.domain.members] == [
        ("claims-node", "fabric.1")
    ]
    found = following(asked, now=timezone.now())
    assert [claim.node for claim in found.claims] == ["claims-node"]
    client.force_login(ada)
    page = client.get(reverse("claims:request-detail", args=[asked.public_id]))
    text = page.content.decode()
    assert "Its own templates" in text
    assert "ComputeDomainChannelConfig" in text

    pods = [(pod.name, pod.uid) for pod in found.pods]
    release(asked, user=ada, pods=pods, request_id="r", now=timezone.now())
    until(lambda: _released(asked, admin))
    with pytest.raises(NotFound):
        admin.get(BY_NAME["ComputeDomain"], asked.plan.name, "ai-serving")
    templates = admin.list(BY_NAME["ResourceClaimTemplate"], "ai-serving").items
    assert template["metadata"]["name"] not in [
        t["metadata"]["name"] for t in templates
    ]


def _with_templates(asked):
    made = made_domain(asked)
    return made if made and made.templates else None


def _healthy(asked):
    made = made_domain(asked)
    return made if made and made.domain.healthy else None


def _released(asked, admin):
    for pod in admin.list(BY_NAME["Pod"], "ai-serving").items:
        if pod["metadata"].get("deletionTimestamp"):
            with suppress(NotFound):
                admin.delete(
                    BY_NAME["Pod"],
                    pod["metadata"]["name"],
                    "ai-serving",
                    gracePeriodSeconds=0,
                )
    asked.refresh_from_db()
    work_on(asked.pk, now=asked.retry_at or timezone.now())
    asked.refresh_from_db()
    return asked.state == State.RELEASED


@pytest.mark.usefixtures("channels")
def test_what_stands_in_the_way_is_said_and_stops_only_where_it_must(
    cluster, ada, admin
):
    too_many = ask(ada, cluster, domain(nodes=4))
    codes = [each["code"] for each in too_many.plan.diagnostics]
    assert codes == ["domain.too_few_nodes", "domain.nodes_deprecated"]
    assert too_many.plan.preview["domain"]["verdict"] == "no"

    with pytest.raises(ChecksRefused) as refused:
        ask(ada, cluster, domain(nodes=-1))
    assert refused.value.findings[0].path == "spec.numNodes"

    admin.patch(
        BY_NAME["Node"],
        "claims-node",
        {"metadata": {"labels": {"nvidia.com/gpu.clique": None}}},
    )
    see(cluster, admin)
    unknown = ask(ada, cluster, domain())
    assert unknown.plan.preview["domain"]["verdict"] == "fits"
    assert unknown.plan.preview["domain"]["cliques"][0]["clique"] is None


@pytest.mark.usefixtures("channels")
def test_the_page_previews_submits_and_keeps_what_was_typed(
    client, ada, cluster, admin
):
    client.force_login(ada)
    address = reverse("claims:compose-domain", args=[cluster.name])
    page = client.get(address).content.decode()
    assert "Compose a compute domain" in page
    typed = {"name": "train", "namespace": "ai-serving", "nodes": "many", "mode": "All"}

    refused = client.post(address, {**typed, "action": "submit"})

    assert refused.status_code == 422
    assert "“many” is no number of nodes" in refused.content.decode()
    assert 'value="many"' in refused.content.decode()

    part = client.post(
        address, {**typed, "nodes": "2"}, headers={"HX-Request": "true"}
    ).content.decode()
    assert "2 nodes of one clique are wanted" in part
    assert "numNodes: 2" in part
    assert "name: train-channel" in part

    key = str(uuid.uuid4())
    name = f"p-{uuid.uuid4().hex[:8]}"
    sent = {
        **typed,
        "name": name,
        "nodes": "0",
        "action": "submit",
        "submission_key": key,
    }
    first, second = client.post(address, sent), client.post(address, sent)
    assert first.status_code == 302
    assert first.url == second.url


@pytest.mark.usefixtures("channels")
def test_what_is_sent_again_leads_to_what_was_made_of_it_meanwhile(
    client, ada, cluster, admin, until
):
    client.force_login(ada)
    address = reverse("claims:compose-domain", args=[cluster.name])
    name = f"p-{uuid.uuid4().hex[:8]}"
    sent = {
        "name": name,
        "namespace": "ai-serving",
        "nodes": "0",
        "mode": "Single",
        "action": "submit",
        "submission_key": str(uuid.uuid4()),
    }
    first = client.post(address, sent)
    asked = ClaimRequest.objects.get(plan__name=name)
    assert work_on(asked.pk, now=timezone.now())
    asked.refresh_from_db()
    assert (asked.state, asked.message) == (State.ACTIVE, "")
    until(lambda: see(cluster, admin) or _with_templates(asked))

    second = client.post(address, sent)
    again = ask(ada, cluster, domain(name=name), key=asked.submission_key)

    assert (second.status_code, second.url) == (302, first.url)
    assert again == asked
