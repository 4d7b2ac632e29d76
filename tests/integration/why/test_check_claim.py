"""`manage.py check_claim`: the interface that pipelines rely on, and what hurts it."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import jsonschema
import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from claims.services import checking
from claims.services.checking import check_file
from claims.services.filed import Filed, file_of
from claims.services.finding_sentences import sentence
from inventory.models import Cluster
from tests.conftest import DATA

pytestmark = pytest.mark.django_db(transaction=True)

FULL = "nvidia-h100-full-8gpu"
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: asked, namespace: orchid}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors:
          - cel:
              expression: |-
                true &&
                device.attributes["gpu.nvidia.com"].nothing == "x"
"""


@pytest.fixture
def check(monkeypatch, capsys):
    """Return a function that runs the command on a text: exit, stdout, stderr."""

    def run(text, *arguments, cluster="demo"):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = 0
        try:
            call_command("check_claim", cluster, "-", *arguments)
        except SystemExit as ended:
            status = ended.code
        out = capsys.readouterr()
        return status, out.out, out.err

    return run


def test_document_has_exactly_the_fields_that_were_promised(load_fleets, check):
    load_fleets(FULL)

    status, out, _err = check(CLAIM, "--format", "json")
    document = json.loads(out)

    assert status == 1
    assert set(document) == {"cluster", "items"}
    (item,) = document["items"]
    assert set(item) == {"kind", "namespace", "name", "diagnostics", "preview"}
    finding = next(d for d in item["diagnostics"] if d["level"] == "error")
    assert set(finding) == {
        "code",
        "level",
        "path",
        "line",
        "column",
        "fileLine",
        "message",
        "fix",
    }
    assert finding["path"] == (
        "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression"
    )
    preview = item["preview"]
    assert set(preview) == {"revision", "engine", "nodes"}
    node = preview["nodes"]["gpu-h100-a"]
    assert set(node) == {"outcome", "message", "results", "score"}
    assert node["outcome"] == "error"


def test_sarif_holds_to_its_schema(load_fleets, check):
    load_fleets(FULL)
    schema = json.loads((DATA / "sarif-2.1.0.json").read_text())

    status, out, _err = check(CLAIM, "--format", "sarif")
    document = json.loads(out)

    jsonschema.Draft4Validator(schema).validate(document)
    (run,) = document["runs"]
    (result,) = [r for r in run["results"] if r["level"] == "error"]
    assert status == 1
    assert result["ruleId"] == "cel.key_published_by_none"
    region = result["locations"][0]["physicalLocation"]["region"]
    # The expression has two lines; the key that nobody publishes is on the second.
    assert (
        region["startLine"] == CLAIM.splitlines().index("                true &&") + 2
    )


def test_a_snapshot_older_than_a_day_is_said_to_be_old(load_fleets, check):
    load_fleets(FULL)
    Cluster.objects.update(heard_at=timezone.now() - dt.timedelta(days=3))

    _status, out, err = check(CLAIM, "--format", "json")

    assert "was read 3 d ago" in err
    assert json.loads(out)


def test_a_fresh_snapshot_is_not(load_fleets, check):
    load_fleets(FULL)
    Cluster.objects.update(heard_at=timezone.now() - dt.timedelta(hours=23))

    assert check(CLAIM)[2] == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"kind": "List", "items": [{"kind": "Res', "no whole JSON document, line 1"),
        ("kind: ResourceClaim\nmetadata: {name: [", "is no YAML, line"),
        ("- 1\n- 2\n", "is no Kubernetes object"),
        ("", "holds no Kubernetes objects"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}", "nothing that could"),
        ("kind: ResourceClaim\nspec: {}", "has no metadata.name"),
        ("kind: DeviceClass\nmetadata: {name: x}\nspec: 3", "spec must be of type obj"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
    ],
)
def test_bad_input_ends_with_2_and_a_sentence(load_fleets, check, text, said):
    load_fleets(FULL)

    status, out, err = check(text)

    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_an_unknown_cluster_is_named(load_fleets, check):
    load_fleets(FULL)

    status, _out, err = check(CLAIM, cluster="nowhere")

    assert status == 2
    assert "There is no cluster nowhere. Known: demo." in err


def test_unknown_fields_and_gates_that_are_off_are_found(load_fleets, check):
    load_fleets(FULL, version="1.35.1")
    text = CLAIM.replace(
        "          deviceClassName: gpu.nvidia.com\n",
        "          deviceClassName: gpu.nvidia.com\n"
        "          capacity: {requests: {memory: 1Gi}}\n",
    )

    _status, out, _err = check(text, "--format", "json")
    codes = {d["code"] for i in json.loads(out)["items"] for d in i["diagnostics"]}
    assert "apply.field_dropped" in codes

    status, out, _err = check(text.replace("capacity:", "capcity:"))
    assert status == 1
    assert "no field “capcity”" in out


def test_of_two_documents_of_one_name_the_second_is_the_change(load_fleets, check):
    load_fleets(FULL)
    second = CLAIM.replace('"x"', '"y"')

    status, out, _err = check(f"{CLAIM}\n---\n{second}", "--format", "json")
    first, last = json.loads(out)["items"]

    assert status == 1
    assert "template.immutable" not in {d["code"] for d in first["diagnostics"]}
    assert "template.immutable" in {d["code"] for d in last["diagnostics"]}


def test_the_script_of_hooks_and_pipelines(db, tmp_path):
    place = connection.settings_dict
    fleet = DATA / "fleets" / f"{FULL}.yaml"
    classes = DATA / "claims" / "deviceclasses.yaml"
    dump = tmp_path / "cluster.yaml"
    dump.write_text(f"{fleet.read_text()}\n---\n{classes.read_text()}")
    (tmp_path / "claim one.yaml").write_text(CLAIM)
    (tmp_path / "values.yaml").write_text("replicas: 3\n")

    def run(*arguments):
        done = subprocess.run(
            [settings.BASE_DIR / "scripts" / "check-claims", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "DATABASE_URL": f"postgres://{place['USER']}@/{place['HOST']}/{place['NAME']}",
            },
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    status, out, _err = run("--dump", "cluster.yaml", "claim one.yaml", "values.yaml")
    assert status == 1
    assert "claim one.yaml:16" in out
    assert "values.yaml" not in out
    assert run("--dump", "cluster.yaml", "values.yaml") == (0, "", "")
    assert run("claim one.yaml")[0] == 2
    assert run("--dump", "nothing.json", "claim one.yaml")[0] == 2


def test_what_time_is_over_for_is_undecided_and_named(load_fleets, monkeypatch):
    cluster = load_fleets(FULL)
    first, *rest = file_of(
        yaml.safe_load(CLAIM.replace("asked", f"asked-{at}")) for at in range(3)
    ).items
    ticks = itertools.count(step=10)
    monkeypatch.setattr(
        checking, "time", SimpleNamespace(monotonic=lambda: next(ticks))
    )

    reached, *late = check_file(cluster, Filed([first, *rest], [], 0), seconds=15)[0]

    assert [f.code for f in reached.findings] == ["cel.key_published_by_none"]
    assert reached.preview is not None
    assert [item.item for item in late] == rest
    for item in late:
        assert [f.code for f in item.findings] == ["preview.budget"]
        assert item.findings[0].level == "warning"
        assert sentence(item.findings[0]).startswith("Undecided: time was over")
