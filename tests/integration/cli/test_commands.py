"""The whole main job with the client alone, its formats, its exit statuses."""

from __future__ import annotations

import json
import os
import re
import stat
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.utils import timezone

from slicewise_cli.errors import AWAY, DONE, INTERRUPTED, REFUSED, TIMED_OUT, USAGE

API = Path(__file__).parents[3] / "docs" / "api.md"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claim_file(tmp_path, template):
    path = tmp_path / "claim.yaml"
    path.write_text(yaml.safe_dump(template()))
    return str(path)


def test_the_main_job_from_submit_to_release(
    slicewise, cluster, claim_file, worker, observe, no_pods
):
    assert slicewise("check", claim_file)[0] == 0
    status, text, errors = slicewise("submit", claim_file, "--wait", "-o", "json")
    assert status == 0, errors
    operation = json.loads(text)
    assert operation["status"] == "succeeded"
    public_id = operation["claimRequest"].rpartition("/")[2]
    observe()

    status, text, _errors = slicewise("get", "requests")
    assert (status, public_id in text, "Active" in text) == (0, True, True)

    status, text, errors = slicewise("release", public_id, "--wait")
    assert status == 0, errors
    assert "succeeded" in text
    assert slicewise("wait", public_id, "--for", "release")[0] == 0


@pytest.mark.parametrize("days", [0, 3])
def test_what_is_judged_of_an_old_picture_is_said_to_be(
    days, slicewise, cluster, claim_file
):
    cluster.heard_at = timezone.now() - timedelta(days=days)
    cluster.save(update_fields=["heard_at"])

    for command in (("check", claim_file), ("preview", claim_file), ("cel", "true")):
        status, text, errors = slicewise(*command)

        assert status == 0
        assert "d ago" not in text
        assert ("3 d ago" in errors) is bool(days)


def test_the_same_key_submits_once(slicewise, cluster, claim_file):
    first = json.loads(slicewise("submit", claim_file, "--key", "k", "-o", "json")[1])
    second = json.loads(slicewise("submit", claim_file, "--key", "k", "-o", "json")[1])

    assert first["id"] == second["id"]


def test_waiting_ends_with_its_own_status(slicewise, cluster, claim_file):
    public_id = json.loads(slicewise("submit", claim_file, "-o", "json")[1])["id"]

    status, _text, errors = slicewise("wait", public_id, "--timeout", "1")

    assert status == 4
    assert "still queued" in errors


@pytest.mark.parametrize(
    "what",
    ["clusters", "nodes", "gpus", "devices", "pools", "classes", "claims", "requests"],
)
def test_every_list_is_a_table_json_and_yaml(what, slicewise, held_cluster):
    status, text, errors = slicewise("get", what)
    assert status == 0, errors
    head = text.splitlines()[0]
    assert head == head.upper()

    found = json.loads(slicewise("get", what, "-o", "json")[1])
    assert len(text.splitlines()) == len(found) + 1
    assert yaml.safe_load(slicewise("get", what, "-o", "yaml")[1]) == found


def test_lists_are_narrowed_and_cut(slicewise, held_cluster):
    _status, text, _errors = slicewise(
        "get", "devices", "--filter", "node=gpu-l40s-a", "--limit", "2", "-o", "json"
    )

    assert [each["node"] for each in json.loads(text)] == ["gpu-l40s-a"] * 2


def test_unknown_memory_is_a_question_mark(slicewise, held_cluster):
    text = slicewise("get", "gpus", "--filter", "node=spark-01")[1]

    # Used, free and total; that no piece can be had is known.
    assert text.splitlines()[1].split().count("?") == 3


def test_a_foreign_manifest_is_printed_put_right(slicewise, held_cluster, tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text(
        """apiVersion: resource.k8s.io/v1beta1  # kept
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: gpu, deviceClassName: nvidia.com/gpu}]}}
"""
    )

    status, text, errors = slicewise("import", str(path))
    _status, diff, _errors = slicewise("import", str(path), "--diff")

    assert status == 0, errors
    assert text.split()[:4] == ["apiVersion:", "resource.k8s.io/v1", "#", "kept"]
    assert "exactly: {deviceClassName: gpu.nvidia.com}" in text
    assert f"repaired warning import.version ({path}:1)" in errors
    assert diff.startswith("--- a/manifests.yaml")
    path.write_text("kind: [")
    assert slicewise("import", str(path))[0] == 1


def test_a_finding_of_level_error_ends_a_check_with_1(
    slicewise, held_cluster, tmp_path
):
    path = tmp_path / "bad.yaml"
    path.write_text(
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors: [{cel: {expression: "device.nope"}}]
"""
    )

    status, text, _errors = slicewise("check", str(path))

    assert status == 1
    assert f"error cel.compile ({path}:10)" in text


def test_a_preview_ends_with_0_even_where_nothing_fits(
    slicewise, held_cluster, tmp_path
):
    path = tmp_path / "much.yaml"
    path.write_text(
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 32}}
"""
    )

    status, text, _errors = slicewise("preview", str(path))

    assert status == 0
    assert "gpu-l40s-a: no" in text


def test_a_selector_is_judged(slicewise, held_cluster):
    good = slicewise("cel", 'device.driver == "dra.net"')
    bad = slicewise("cel", "device.nope")

    assert (good[0], "3 match" in good[1]) == (0, True)
    assert (bad[0], "(1:7)" in bad[1]) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("get", "devices", "--filter", "colour=red"), 2, "colour"),
        (("get", "devices", "--filter", "colour"), 2, "NAME=VALUE"),
        (("get", "devices", "-c", "nowhere"), 1, "nowhere"),
        (("get", "devices", "--limit", "0"), 2, "at least 1"),
        (("check", "/nowhere.yaml"), 2, "cannot be read"),
        (("release", "0b8d3a52-0000-4000-8000-000000000009"), 1, "no claim request"),
        (("wait", "nonsense"), 1, "no operation"),
        (("dance",), 2, "invalid choice"),
        (("wait", "a", "--timeout", "nan"), 2, "no number of seconds"),
        (("wait", "a", "--timeout", "soon"), 2, "invalid number of seconds"),
        (("login", "--server", "gpus.example.com"), 2, "https://"),
    ],
)
def test_errors_are_sentences_and_statuses(
    arguments, status, word, slicewise, held_cluster, monkeypatch
):
    monkeypatch.setattr("getpass.getpass", lambda prompt: "swt_1")
    found, text, errors = slicewise(*arguments)

    assert (found, text) == (status, "")
    assert word in errors.splitlines()[0]
    assert all(line.startswith("  ") for line in errors.splitlines()[1:])


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("SLICEWISE_TOKEN", "swt_\N{BULLET}", "copy it whole"),
        ("SLICEWISE_TOKEN", "swt_a\nb", "copy it whole"),
        ("SLICEWISE_SERVER", "gpus.example.com", "https://"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(
    name, value, word, slicewise, monkeypatch
):
    monkeypatch.setenv(name, value)

    status, text, errors = slicewise("get", "clusters")

    assert (status, text) == (2, "")
    assert word in errors


def test_a_place_that_cannot_be_written_is_said(slicewise, monkeypatch, tmp_path):
    (tmp_path / "config").write_text("a file")
    token = os.environ["SLICEWISE_TOKEN"]
    monkeypatch.setattr("getpass.getpass", lambda prompt: token)

    status, _text, errors = slicewise(
        "login", "--server", os.environ["SLICEWISE_SERVER"]
    )

    assert status == 2
    assert "cannot be written" in errors


def test_nobody_to_type_a_token_is_said(slicewise, monkeypatch):
    def end(prompt):
        raise EOFError

    monkeypatch.setattr("getpass.getpass", end)

    status, _text, errors = slicewise("login", "--server", "https://gpus.example.com")

    assert (status, "--token-stdin" in errors) == (2, True)


def test_an_interrupted_command_ends_as_shells_say(slicewise, cluster, monkeypatch):
    def interrupt(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr("slicewise_cli.client.Client.get", interrupt)

    status, text, errors = slicewise("whoami")

    assert (status, text) == (130, "")
    assert errors.startswith("Interrupted")


def test_every_exit_status_is_in_the_document():
    section = API.read_text().partition("| exit | when |")[2].partition("\n\n")[0]
    documented = {
        int(found) for found in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)
    }

    assert documented == {DONE, REFUSED, USAGE, AWAY, TIMED_OUT, INTERRUPTED}


def test_a_portal_that_is_away_ends_with_3(slicewise, held_cluster, monkeypatch):
    monkeypatch.setenv("SLICEWISE_SERVER", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    status, _text, errors = slicewise("get", "clusters")

    assert status == 3
    assert "cannot be reached" in errors


def test_signing_in_keeps_a_private_file(slicewise, monkeypatch, tmp_path):
    server, token = os.environ["SLICEWISE_SERVER"], os.environ["SLICEWISE_TOKEN"]
    monkeypatch.delenv("SLICEWISE_SERVER")
    monkeypatch.delenv("SLICEWISE_TOKEN")
    assert slicewise("whoami")[0] == 2

    monkeypatch.setattr("getpass.getpass", lambda prompt: "wrong")
    assert slicewise("login", "--server", server)[0] == 2
    monkeypatch.setattr("getpass.getpass", lambda prompt: token)
    status, text, _errors = slicewise("login", "--server", server)

    kept = tmp_path / "config" / "slicewise" / "access.json"
    assert status == 0
    assert "ada@orchid" in text
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert slicewise("whoami", "-o", "json")[0] == 0


def test_what_if_shows_both_sides(slicewise, held_cluster, claim_file):
    status, text, _errors = slicewise("what-if", claim_file, "drain=gpu-l40s-a")

    before, _label, after = text.partition("after:")
    assert status == 0
    assert "gpu-l40s-a: " in before
    assert "gpu-l40s-a: " not in after
    assert slicewise("what-if", claim_file, "drain=")[0] == 2
    assert slicewise("what-if", claim_file, "sell=gpu-l40s-a")[0] == 2
