from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from inventory.models import Cluster, Device, KubeObject
from tests.conftest import DATA

pytestmark = pytest.mark.django_db

FLEET = str(DATA / "fleets" / "nvidia-t4-l40s.yaml")


def load(*arguments: str) -> None:
    call_command("load_cluster", *arguments)


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        load(*arguments)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_load_cluster_reads_documents(capsys):
    load(
        "demo",
        FLEET,
        "--kubernetes-version",
        "v1.36.5",
        "--feature-gates",
        "DRAListTypeAttributes=true",
    )

    cluster = Cluster.objects.get()
    assert (cluster.kind, cluster.kubernetes_version) == ("offline", "1.36.5")
    assert cluster.feature_gates == {"DRAListTypeAttributes": True}
    assert Device.objects.count() == 5
    assert capsys.readouterr().out == "demo: 2 Node, 2 ResourceSlice\n"


def test_load_cluster_makes_nodes_of_slices():
    load("demo", FLEET)

    node = KubeObject.objects.filter(kind="Node").order_by("name").first()
    assert node.body["metadata"]["labels"] == {"kubernetes.io/hostname": node.name}


def test_load_cluster_replaces_what_was_there():
    load("demo", FLEET)
    load("demo", str(DATA / "fleets" / "amd-mi300x-full.yaml"))

    assert set(Device.objects.values_list("driver", flat=True)) == {"gpu.amd.com"}
    assert KubeObject.objects.filter(deleted_at=None, kind="Node").count() == 1


def test_load_cluster_reads_a_typed_json_list(tmp_path):
    path = tmp_path / "nodes.json"
    path.write_text(
        json.dumps(
            {
                "kind": "NodeList",
                "apiVersion": "v1",
                "items": [{"metadata": {"name": "n"}}],
            }
        )
    )

    load("demo", str(path))

    assert KubeObject.objects.get().kind == "Node"


def test_load_cluster_reads_v1beta1():
    load("demo", str(DATA / "fleets" / "nvidia-b200-v25.3-v1beta1-legacy.yaml"))

    assert Device.objects.filter(memory_bytes__gt=0).count() == 2


def test_load_cluster_counts_what_it_leaves_out(tmp_path, capsys):
    path = tmp_path / "more.yaml"
    path.write_text(
        "kind: ConfigMap\nmetadata: {name: a}\n---\nkind: Secret\nmetadata: {name: b}\n"
    )

    load("demo", FLEET, str(path))

    assert capsys.readouterr().err == "left out: 1 ConfigMap, 1 Secret\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1, 2", "line 2"),
        ('{"kind": "List", "items": [', "no whole JSON document"),
        ("just words", "has no kind"),
        ("", "holds no Kubernetes objects"),
        ("kind: Node", "no metadata.name"),
        ("kind: Node\nmetadata: {name: 3}", "no metadata.name"),
        (
            "kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: a, labels: {b: c}}",
            "Node a",
        ),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
            "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
            "kind: Node\nmetadata: {name: a}",
            "aliases",
        ),
        ('kind: Node\nmetadata: {name: a, labels: {x: "\\0"}}', "cannot be stored"),
        ("[" * 3000 + "]" * 3000, "maximum nesting depth"),
        ("kind: Node\n\tmetadata: 3", "line 2"),
    ],
)
def test_load_cluster_changes_nothing_on_bad_input(tmp_path, capsys, text, sentence):
    load("demo", FLEET)
    capsys.readouterr()
    path = tmp_path / "bad.yaml"
    path.write_text(text)

    assert sentence in refused(capsys, "demo", FLEET, str(path))
    assert Cluster.objects.get().revision == 1


def test_load_cluster_says_what_is_wrong_with_its_arguments(tmp_path, capsys):
    assert "cannot be read" in refused(capsys, "demo", str(tmp_path / "absent.yaml"))
    assert "no Kubernetes version" in refused(
        capsys, "demo", FLEET, "--kubernetes-version", "soon"
    )
    assert "no feature gate" in refused(capsys, "demo", FLEET, "--feature-gates", "A")
    assert not Cluster.objects.exists()


def test_load_cluster_never_overwrites_a_live_cluster(capsys):
    Cluster.objects.create(name="prod", kind="live")

    assert "live cluster" in refused(capsys, "prod", FLEET)
    assert not Device.objects.exists()
