from __future__ import annotations

import io
import json
import sys

import pytest
from django.core.management import call_command

from claims.services.preview import apreview_alternatives
from tests.conftest import DATA

pytestmark = pytest.mark.django_db

SHARES_ELSE_MIG = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: infer, namespace: ai-serving}
spec:
  spec:
    devices:
      requests:
      - name: gpus
        firstAvailable:
        - name: shares
          deviceClassName: gpu.nvidia.com
          count: 2
          selectors:
          - cel:
              expression: >-
                device.allowMultipleAllocations &&
                device.attributes["gpu.nvidia.com"].architecture == "Hopper" &&
                device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("79Gi")) >= 0
          capacity: {requests: {memory: 16Gi}}
        - name: mig
          deviceClassName: mig.nvidia.com
          count: 2
          selectors:
          - cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "2g.20gb"'}
      constraints:
      - {requests: [gpus/shares], distinctAttribute: gpu.nvidia.com/uuid}
      - {requests: [gpus/mig], distinctAttribute: gpu.nvidia.com/parentUUID}
"""


def run(monkeypatch, capsys, text: str, *arguments: str) -> dict:
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    call_command("preview", "demo", "-", "--format", "json", *arguments)
    return json.loads(capsys.readouterr().out)


def test_preview_says_which_alternative_each_node_gives(
    fleet_cluster, monkeypatch, capsys
):
    document = run(monkeypatch, capsys, SHARES_ELSE_MIG)

    (item,) = document["items"]
    assert (item["kind"], item["namespace"], item["name"]) == (
        "ResourceClaimTemplate",
        "ai-serving",
        "infer",
    )
    preview = item["preview"]
    assert preview["engine"] == {
        "minor": "1.37",
        "library": "v0.37.2",
        "allocator": "incubating",
    }
    assert preview["revision"] == fleet_cluster.revision
    got = {
        name: (
            node["outcome"],
            node["score"],
            [
                (d["request"], d["device"], d.get("consumedCapacity"))
                for d in node["results"][0]["devices"]["results"]
            ]
            if node["results"]
            else None,
        )
        for name, node in preview["nodes"].items()
    }
    share = {"memory": "16Gi"}
    assert got == {
        "gpu-h100-mig": (
            "fits",
            7,
            [
                ("gpus/mig", "gpu-0-mig-2g20gb-14-0", None),
                ("gpus/mig", "gpu-1-mig-2g20gb-14-0", None),
            ],
        ),
        "gpu-h100-share-a": (
            "fits",
            8,
            [
                ("gpus/shares", "gpu-0", share),
                ("gpus/shares", "gpu-1", share),
            ],
        ),
        "gpu-h100-share-b": (
            "fits",
            8,
            [
                ("gpus/shares", "gpu-0", share),
                ("gpus/shares", "gpu-1", share),
            ],
        ),
        "gpu-h100-upd": ("no", None, None),
        "gpu-l40s-a": ("no", None, None),
        "gpu-t4-a": ("no", None, None),
    }


@pytest.mark.django_db(transaction=True)
async def test_preview_alternatives_asks_each_alone(load_fleets):
    from asgiref.sync import sync_to_async

    from claims.domain.preview import claim_of
    from inventory.gateways.files import parse_objects

    cluster = await sync_to_async(load_fleets)(
        "nvidia-h100-consumable-shares", "nvidia-h100-dynamic-mig-k8s135"
    )
    (manifest,) = parse_objects(SHARES_ELSE_MIG.encode(), "text")

    shares, mig = await apreview_alternatives(cluster, claim_of(manifest))

    assert (shares.subrequest, shares.preview.fitting) == (
        "shares",
        ["gpu-h100-share-a", "gpu-h100-share-b"],
    )
    assert (mig.subrequest, mig.preview.fitting) == ("mig", ["gpu-h100-mig"])


def test_preview_together_is_one_pod(fleet_cluster, monkeypatch, capsys):
    one = """
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: NAME}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 3,
  selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Ada Lovelace"'}}]}}]}}
"""
    text = one.replace("NAME", "a") + "---" + one.replace("NAME", "b")

    alone = run(monkeypatch, capsys, text)["items"]
    (pod,) = run(monkeypatch, capsys, text, "--together")["items"]

    assert [item["preview"]["nodes"]["gpu-l40s-a"]["outcome"] for item in alone] == [
        "fits",
        "fits",
    ]
    assert pod["preview"]["nodes"]["gpu-l40s-a"]["outcome"] == "no"
    assert (pod["kind"], pod["name"]) == ("Pod", "")


def test_preview_counts_what_the_file_allocates(fleet_cluster, monkeypatch, capsys):
    text = (DATA / "cases" / "11-mig-fragmentation.yaml").read_text()

    items = {
        item["name"]: item["preview"]
        for item in run(monkeypatch, capsys, text)["items"]
    }

    assert items["holder-0"] is None
    assert items["three-g"]["nodes"]["gpu-h100-mig"]["outcome"] == "no"
    (found,) = items["two-g"]["nodes"]["gpu-h100-mig"]["results"]
    assert found["devices"]["results"][0]["device"] == "gpu-0-mig-2g20gb-14-2"


def test_preview_of_a_missing_class_is_an_error_on_every_node(
    fleet_cluster, monkeypatch, capsys
):
    text = """
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: a}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: nope}}]}}
"""
    (item,) = run(monkeypatch, capsys, text)["items"]

    assert {node["outcome"] for node in item["preview"]["nodes"].values()} == {"error"}


def test_preview_says_what_is_wrong_with_its_input(fleet_cluster, capsys, tmp_path):
    path = tmp_path / "node.yaml"
    path.write_text("kind: Node\nmetadata: {name: n}\n")
    for arguments, sentence in [
        (("nowhere", str(path)), "There is no cluster nowhere. Known: demo."),
        (("demo", str(path)), "holds no ResourceClaim"),
        (("demo", str(tmp_path / "absent")), "cannot be read"),
    ]:
        with pytest.raises(SystemExit) as ended:
            call_command("preview", *arguments)
        assert ended.value.code == 2
        assert sentence in capsys.readouterr().err


def test_cel_counts_over_the_cluster(fleet_cluster, capsys):
    call_command(
        "cel",
        "demo",
        'device.attributes["gpu.nvidia.com"].profile == "2g.20gb"',
        "--format",
        "json",
    )
    document = json.loads(capsys.readouterr().out)

    assert document["compile"]["apiserver"] == {
        "ok": True,
        "error": None,
        "line": None,
        "column": None,
    }
    assert (document["cost"], document["limit"]) == (5, 1_000_000)
    # 8 shares, 2 whole cards beside MIG, 5 others and 1 of the new generation have no profile.
    assert document["devices"] == {"match": 6, "noMatch": 44, "error": 16}
    assert document["nodes"]["gpu-h100-mig"] == {"match": 6, "noMatch": 44, "error": 2}
    (error,) = document["errors"]
    assert (error["message"], error["count"]) == ("no such key: profile", 16)


def test_cel_that_does_not_compile_has_a_place_and_exit_1(fleet_cluster, capsys):
    with pytest.raises(SystemExit) as ended:
        call_command(
            "cel", "demo", "true &&\n  devise.driver == 'x'", "--format", "json"
        )

    document = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert document["compile"]["apiserver"]["ok"] is False
    assert (
        document["compile"]["apiserver"]["line"],
        document["compile"]["apiserver"]["column"],
    ) == (2, 3)
    assert document["devices"] is None
