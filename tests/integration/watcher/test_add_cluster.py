"""`manage.py add_cluster`: what it keeps, and what it says when it does not."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from inventory.domain.kinds import NAMESPACE
from inventory.gateways.identity import AS_ITSELF
from inventory.models import Cluster
from inventory.services import connections
from inventory.services.connections import kube_for
from portal.core import secrets


@pytest.fixture
def config(sim):
    """Return the path of a kubeconfig with two users."""
    path = sim.kubeconfig()
    parsed = json.loads(path.read_text())
    parsed["clusters"][0]["cluster"].pop("certificate-authority")
    weak = json.loads(sim.kubeconfig("slicewise").read_text())
    parsed["users"] += weak["users"]
    parsed["contexts"] += weak["contexts"]
    path.write_text(json.dumps(parsed))
    return path


def run(capsys, *args):
    """Return exit status, stdout and stderr."""
    try:
        call_command("add_cluster", *map(str, args))
        status = 0
    except SystemExit as error:
        status = error.code
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.django_db
def test_it_is_tried_and_kept_encrypted(config, capsys):
    assert run(capsys, "demo", config, "--simulated") == (
        0,
        "demo: v1.37.2, added\n",
        "",
    )
    row = Cluster.objects.get(name="demo")
    assert row.kind == "simulated"
    assert "token" not in row.kubeconfig_encrypted
    assert '"token"' in secrets.decrypt(row.kubeconfig_encrypted)
    kube = kube_for(row, AS_ITSELF)
    assert kube.list(NAMESPACE).items
    kube.connection.close()
    connections._known.clear()
    Cluster.objects.filter(name="demo").update(revision=7)
    assert run(capsys, "demo", config)[1] == "demo: v1.37.2, replaced\n"
    row.refresh_from_db()
    assert (row.kind, row.revision) == ("live", 7)


@pytest.mark.django_db
def test_what_is_refused_is_a_sentence_and_keeps_nothing(config, capsys, tmp_path, sim):
    empty = tmp_path / "empty"
    empty.write_text("")
    cases = [
        (2, ("demo", tmp_path / "nope"), "No such file"),
        (2, ("demo", empty), "lists no clusters"),
        (2, ("demo", config, "--context", "nope"), "contexts lacks 'nope'"),
        (2, ("demo", config, "--context", "slicewise"), "may not list resourceslices"),
        (2, ("Demo_1", config), "cannot be a cluster's name"),
        (2, ("demo",), "either a kubeconfig or --in-cluster"),
        (2, ("demo", config, "--in-cluster"), "either a kubeconfig or --in-cluster"),
        (2, ("demo", "--in-cluster"), "The kubeconfig cannot be used"),
    ]
    text = config.read_text()
    wrong = tmp_path / "wrong"
    wrong.write_text(text.replace('"token": "', '"token": "x'))
    cases.append((2, ("demo", wrong), "Unauthorized"))
    for status, args, said in cases:
        got, out, err = run(capsys, *args)
        assert (got, out) == (status, ""), err
        assert said in err
        assert len(err.strip().splitlines()) == 1
    sim.kill()
    got, _out, err = run(capsys, "demo", config)
    assert got == 3
    assert "does not answer" in err
    sim.start()
    assert not Cluster.objects.exists()


def test_a_cluster_from_files_is_not_replaced(load_fleets, config, capsys):
    load_fleets("nvidia-t4-l40s", name="files")
    status, _out, err = run(capsys, "files", config)
    assert status == 2
    assert "choose another name" in err
