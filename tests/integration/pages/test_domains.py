"""ComputeDomains: members, cliques, readiness, and whose names are told."""

from __future__ import annotations

from typing import Any

import pytest

from inventory.domain.domains import parse_domain
from inventory.models import Cluster
from tests.integration.pages.test_pages import html

DOMAINS = "/c/demo/domains/"


def domain(
    namespace: str, name: str, state: str, *nodes: tuple[str, str, str]
) -> dict[str, Any]:
    """Return a ComputeDomain with members (node, clique, state)."""
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {
            "numNodes": 0,
            "channel": {"resourceClaimTemplate": {"name": f"{name}-channel"}},
        },
        "status": {
            "status": state,
            "nodes": [
                {"name": node, "cliqueID": clique, "status": told, "index": n}
                for n, (node, clique, told) in enumerate(nodes)
            ],
        },
    }


@pytest.fixture
def domains(load_fleets, cleo):
    """Return a cluster with a domain of each tenant."""
    return load_fleets(
        "nvidia-gb200-gpus-and-computedomain",
        extra=[
            domain("ai-training", "orchid-train", "Ready", ("n2", "c.1", "Ready"),
                   ("n1", "c.1", "Ready"), ("n3", "c.2", "NotReady")),
            domain("maple-lab", "maple-train", "Ready", ("m1", "c.9", "Ready")),
        ],
    )  # fmt: skip


def test_domains_tell_members_by_clique(domains, browse, ada):
    page = " ".join(html(browse(ada), DOMAINS).split())

    assert "2 domains, 0 of 1 ready with all members, 1 of others" in page
    assert (
        page.index("<code>c.1</code>")
        < page.index('scope="row">n1</th>')
        < page.index('scope="row">n2</th>')
        < page.index("<code>c.2</code>")
    )
    assert "2 of 3 members ready" in page
    assert "orchid-train-channel" in page
    assert "maple" not in page.replace("cleo@maple", "")


def test_domains_of_who_sees_everybody(domains, browse, eli):
    page = html(browse(eli), DOMAINS)

    assert "maple-lab/maple-train" in page
    assert "1 of 2 ready with all members" in page


def test_overview_leads_to_domains_where_there_are_some(
    domains, browse, ada, load_fleets
):
    assert 'href="/c/demo/domains/"' in html(browse(ada), "/c/demo/")
    load_fleets("nvidia-t4-l40s", name="other")
    assert "/c/other/domains/" not in html(browse(ada), "/c/other/")


def test_domains_that_are_not_read_are_unknown(db, browse, ada):
    Cluster.objects.create(
        name="demo",
        kind="live",
        kubernetes_version="1.37.2",
        kinds={"ComputeDomain": {"state": "forbidden"}},
    )

    assert "Whether there are any is unknown" in html(browse(ada), DOMAINS)


@pytest.mark.parametrize(
    ("state", "wanted", "members", "healthy"),
    [
        ("Ready", 0, [("a", "c", "Ready")], True),
        ("Ready", 2, [("a", "c", "Ready")], False),
        ("Ready", 0, [("a", "c", "")], False),
        ("NotReady", 0, [("a", "c", "Ready")], False),
        ("Ready", 0, [], False),
    ],
)
def test_healthy_is_ready_with_all_members(state, wanted, members, healthy):
    body = domain("a", "b", state, *members)
    body["spec"]["numNodes"] = wanted

    assert parse_domain("a", "b", body).healthy is healthy


@pytest.mark.parametrize("body", [None, {}, {"spec": 3, "status": {"nodes": [1, {}]}}])
def test_parse_domain_takes_anything(body):
    assert parse_domain("a", "b", body).state == ""
