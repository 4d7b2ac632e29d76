"""What whole cards strand, on its page and as CSV."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.utils import timezone

from inventory.models import Cluster
from inventory.services.store import replace_kinds
from portal.adoption.services.peaks import QUESTION
from tests.integration.meters.conftest import prometheus  # noqa: F401  fixture


def node(name, config):
    labels = {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.memory": "81920",
        "nvidia.com/mig.config": config,
    }
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}}


def pod(name, node_name, *, need="", cards="1", status=None):
    annotations = {"slicewise.dev/needs-memory": need} if need else {}
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": cards}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ai", "annotations": annotations},
        "spec": {
            "nodeName": node_name,
            "containers": [container],
            "nodeSelector": {"nvidia.com/mig.config": "all-disabled"},
        },
        "status": status or {"phase": "Running"},
    }


@pytest.fixture
def plugged(db):
    row = Cluster.objects.create(name="demo", kind="offline", kubernetes_version="1.37")
    pods = [
        pod("small", "n1", need="12Gi"),
        pod("=silent", "n2", cards="2"),
        pod("done", "n1", need="1Gi", status={"phase": "Succeeded"}),
        pod(
            "claimed",
            "n1",
            need="1Gi",
            status={"phase": "Running", "extendedResourceClaimStatus": {"a": "b"}},
        ),
    ]
    nodes = [node("n1", "all-disabled"), node("n2", "all-1g.10gb")]
    replace_kinds(row, {"Pod": pods, "Node": nodes}, now=timezone.now())
    row.kinds = {kind: {"state": "watching"} for kind in ("Pod", "Node")}
    row.save()
    return row


def test_page_says_what_is_stranded_and_what_nobody_told(plugged, client, eli):
    client.force_login(eli)
    text = client.get("/c/demo/adoption/savings/").content.decode()
    assert "80 GiB" in text
    assert "12 GiB" in text
    assert "≥ 68 GiB" in text
    assert "0.15" in text
    assert "What 1 pod needs is not known" in text


def test_csv_has_a_line_for_each_pod_and_leaves_unknown_empty(plugged, client, eli):
    client.force_login(eli)
    answer = client.get("/c/demo/adoption/savings.csv")
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [row["pod"] for row in rows] == ["'=silent", "small"]
    assert rows[0]["need_bytes_per_card"] == ""
    assert rows[1]["need_bytes_per_card"] == str(12 * 2**30)


def test_what_is_not_read_is_said(plugged, client, eli):
    plugged.kinds = {"Pod": {"state": "forbidden"}}
    plugged.save()
    client.force_login(eli)
    text = client.get("/c/demo/adoption/savings/").content.decode()
    assert "not all read" in text


def answer_of(*rows):
    result = [{"metric": labels, "value": [1.0, str(mib)]} for labels, mib in rows]
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data})


def test_what_nobody_told_is_taken_from_dcgm_and_said_to_be(
    plugged,
    client,
    eli,
    prometheus,  # noqa: F811
):
    cache.clear()
    mine = {"namespace": "monitoring", "pod": "exporter-x", "exported_namespace": "ai"}
    prometheus.answers[QUESTION] = (
        200,
        answer_of(
            ({**mine, "exported_pod": "=silent"}, 20 * 1024),
            ({**mine, "exported_pod": "small"}, 70 * 1024),
        ),
    )
    plugged.prometheus_url = prometheus.url
    plugged.save()
    client.force_login(eli)

    text = client.get("/c/demo/adoption/savings/").content.decode()

    assert "What 1 pod needs is measured" in text
    # 3 cards of 80 GiB; two need 20 GiB each, and one the 12 GiB that it says.
    assert "240 GiB are held and 52 GiB of them needed: 188 GiB are stranded." in text
    assert "The 3 cards that this is of could be 1, packed at best." in text
    answer = client.get("/c/demo/adoption/savings.csv").getvalue().decode()
    rows = {row["pod"]: row for row in csv.DictReader(io.StringIO(answer))}
    assert rows["'=silent"]["need_told_by"] == "measured"
    assert rows["'=silent"]["stranded_bytes"] == str(2 * 60 * 2**30)
    assert rows["small"]["need_told_by"] == "annotation"
    assert rows["small"]["node"] == "n1"
    # The table was drawn from the answer that was kept.
    assert prometheus.asked.count(QUESTION) == 1


def test_a_prometheus_that_fails_is_said_and_changes_nothing(
    plugged,
    client,
    eli,
    prometheus,  # noqa: F811
):
    cache.clear()
    prometheus.fail(QUESTION)
    plugged.prometheus_url = prometheus.url
    plugged.save()
    client.force_login(eli)
    text = client.get("/c/demo/adoption/savings/").content.decode()
    assert "What 1 pod needs is not known" in text
    assert "Prometheus" in text
