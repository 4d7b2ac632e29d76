from __future__ import annotations

import json
import tracemalloc

import pytest
from django.core.management import call_command

from inventory.gateways.dumps import objects_in
from inventory.gateways.files import read_objects
from inventory.models import Cluster, Device, KubeObject
from inventory.services.loading import collect
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


@pytest.fixture
def small_is_large(monkeypatch):
    """Read every JSON file object by object, in chunks that cut objects apart."""
    monkeypatch.setattr("inventory.gateways.dumps.LARGE_BYTES", 0)
    monkeypatch.setattr("inventory.gateways.dumps._CHUNK", 97)


def dump(objects, **more):
    """Return a List as kubectl prints it: its kind after its items."""
    return json.dumps({"apiVersion": "v1", "items": objects, "kind": "List", **more})


def many_objects():
    slices = read_objects(FLEET)
    maps = [
        {"kind": "ConfigMap", "metadata": {"name": f"m{n}"}, "data": {"x": "é" * n}}
        for n in range(20)
    ]
    return [*maps, *slices, *maps[:3]]


def test_a_large_dump_is_read_object_by_object(tmp_path, capsys, small_is_large):
    path = tmp_path / "dump.json"
    path.write_text(dump(many_objects(), metadata={"resourceVersion": ""}))

    load("demo", str(path))

    said = capsys.readouterr()
    assert said.out == "demo: 2 Node, 2 ResourceSlice\n"
    assert said.err == "left out: 23 ConfigMap\n"
    assert Device.objects.count() == 5


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_large_dump_that_is_cut_off_changes_nothing(
    tmp_path, capsys, small_is_large, share
):
    load("demo", FLEET)
    capsys.readouterr()
    text = dump(many_objects())
    path = tmp_path / "dump.json"
    path.write_text(text[: int(len(text) * share)])

    said = refused(capsys, "demo", str(path))

    assert "no whole JSON document, line 1" in said
    assert Cluster.objects.get().revision == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (dump([3]), "item 1 is no Kubernetes object"),
        (dump([{"metadata": {}}]), "item 1 is no Kubernetes object"),
        (dump([]) + dump([]), "more after the end"),
        ('{"a": }', "no whole JSON document"),
        ('{"kind": "List", "items": [' + "[" * 100_000, "no whole JSON document"),
        ('{"a": 1}', "it has no kind"),
    ],
)
def test_a_large_file_that_is_no_dump_is_refused(
    tmp_path, capsys, small_is_large, text, sentence
):
    path = tmp_path / "dump.json"
    path.write_text(text)

    assert sentence in refused(capsys, "demo", str(path))


def test_a_large_dump_takes_little_memory(tmp_path):
    path = tmp_path / "dump.json"
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"namespace": "x", "managedFields": [{"f": "x" * 6_000}]},
        "spec": {"containers": [{"name": "c", "env": [{"value": "y" * 6_000}]}]},
    }
    with path.open("w") as file:
        file.write('{"kind": "List", "items": [')
        for n in range(5_000):
            pod["metadata"]["name"] = f"p{n}"
            file.write((", " if n else "") + json.dumps(pod))
        file.write("]}")
    assert path.stat().st_size > 60_000_000

    tracemalloc.start()
    kept, left_out = collect(objects_in(str(path)))
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (kept, left_out) == ({}, {"Pod without devices": 5_000})
    assert most < 40_000_000


def test_yaml_that_is_too_large_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("inventory.gateways.files.LARGEST_YAML", 100)

    assert "write it with -o json" in refused(capsys, "demo", FLEET)
