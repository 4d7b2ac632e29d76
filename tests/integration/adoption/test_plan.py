"""The plan to DRA: walked forth and back on a simulated cluster; its pages and record."""

from __future__ import annotations

import pytest
import yaml
from django.db import DatabaseError, transaction
from django.utils import timezone

from portal.adoption.domain.phase_manifests import MANIFESTS
from portal.adoption.domain.phases import Move
from portal.adoption.models import MigrationPlan, MigrationStep
from portal.adoption.services.migrating import PlanChanged, make_move
from portal.audit.queries.trail import Filters, trail
from portal.audit.services.sealing import seal
from tests.integration.adoption.scene import NAME, Scene
from tests.integration.adoption.test_readiness import (
    half_way,  # noqa: F401  fixture
    node,
)
from tests.integration.adoption.walking import Guide, walk
from tests.integration.watcher.servers import SimServer

PAGE = "/c/demo/adoption/plan/"
API = "clusters/demo/adoption/plan"
BOTH = "ClusterPolicy and GPUCluster are not there together"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    server = SimServer(tmp_path_factory.mktemp("walked"))
    yield server
    server.close()


@pytest.fixture
def loaded(load_fleets):
    """Return a cluster from files: what its API server serves is not known."""
    rows = [node(f"gpu-l40s-{n}", runtime="containerd://2.0.1") for n in "ab"]
    return load_fleets("nvidia-t4-l40s", extra=rows)


@pytest.fixture
def move(dora):
    """Return a function that moves the plan of a cluster as Dora."""

    def do(cluster, wanted, reason="", version=None):
        found = MigrationPlan.objects.filter(cluster=cluster.name).first()
        return make_move(
            cluster,
            Move(wanted),
            version=(found.version if found else 0) if version is None else version,
            reason=reason,
            user=dora,
            request_id="plan-id",
            now=timezone.now(),
        )

    return do


def test_a_simulated_cluster_is_walked_forth_and_back(
    db, simulated, call, dora, browse
):
    config = simulated.kubeconfig().read_text()
    scene = Scene(simulated.client(), config, is_real=False)
    guide = Guide(scene, call(dora), dora)

    walk(scene, guide)

    steps = guide.caller.items(f"{guide.path}/steps")
    assert [each["number"] for each in steps] == list(range(len(steps), 0, -1))
    backs = [each for each in steps if each["move"] == "go-back"]
    before = [each["before"]["phase"] for each in backs]
    assert before == ["canary", "mapping", "templates", "drain", "drain"]
    assert all(each["reason"] and each["evidence"] for each in backs)
    record = browse(dora).get(f"/c/{NAME}/adoption/plan/record/").content.decode()
    assert "Drivers crash on two nodes." in record
    assert record.count("<h2") >= len(steps)


def test_what_is_unknown_is_not_green_until_somebody_answers_for_it(
    loaded, call, dora, move
):
    caller = call(dora)
    move(loaded, "start")

    def post(**body):
        etag = caller.get(API)["ETag"]
        return caller.post(f"{API}/moves", body, If_Match=etag)

    refused = post(move="go-on")
    assert refused.status_code == 409, refused.content
    assert "resource.k8s.io/v1 is served" in refused.json()["detail"]
    assert post(move="check").json()["state"] == "Running"
    assert post(move="confirm").status_code == 422
    done = post(move="confirm", reason="kubectl get --raw says so.").json()
    assert done["state"] == "GateGreen"
    [line] = [each for each in done["phases"][0]["lines"] if each["confirmed"]]
    assert (line["code"], line["answer"]) == ("resource.v1", "unknown")
    assert post(move="go-on").json()["phase"] == "canary"
    [step] = [s for s in caller.items(f"{API}/steps") if s["move"] == "confirm"]
    assert step["reason"] == "kubectl get --raw says so."
    kept = {each["code"]: each["answer"] for each in step["evidence"]}
    assert kept == {"resource.v1": "unknown", "gate.runtimes": "yes"}


def test_a_plan_is_moved_only_as_it_was_seen(loaded, call, dora, browse, move):
    caller = call(dora)
    body = {"move": "start"}
    assert caller.post(f"{API}/moves", body).status_code == 428
    assert caller.post(f"{API}/moves", body, If_Match='"9"').status_code == 412
    move(loaded, "start")
    with pytest.raises(PlanChanged):
        move(loaded, "start", version=0)
    with pytest.raises(PlanChanged):
        move(loaded, "pause", version=7)
    form = {"move": "pause", "version": "0", "reason": "a long <reason>"}
    answer = browse(dora).post(f"{PAGE}move/", form)
    assert answer.status_code == 409
    assert "dora@platform moved this plan meanwhile" in answer.text
    assert "a long &lt;reason&gt;</textarea>" in answer.text
    assert MigrationPlan.objects.get().state == "Running"


def test_nobody_begins_while_both_objects_are_there(half_way, call, dora):  # noqa: F811
    caller = call(dora)
    etag = caller.get(API)["ETag"]
    answer = caller.post(f"{API}/moves", {"move": "start"}, If_Match=etag)
    assert answer.status_code == 409
    assert BOTH in answer.json()["detail"]
    found = caller.get(f"{API}/phases/drain").json()
    assert next(each["title"] for each in found["blockedBy"]) == BOTH
    assert not MigrationPlan.objects.exists()


def test_steps_are_never_changed_and_are_sealed(loaded, move, dora):
    move(loaded, "start")
    move(loaded, "pause", "Frozen over the holidays.")
    for change in (
        lambda rows: rows.update(reason="other"),
        lambda rows: rows.delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change(MigrationStep.objects.all())
    seal()
    tables = {row.table for row in trail(Filters(actor=dora.username, is_whole=True))}
    assert {"adoption.MigrationPlanEvent", "adoption.MigrationStepEvent"} <= tables
    assert trail(Filters(text="Frozen over")).exists()


def test_the_page_works_without_script_and_shows_each_phase(loaded, browse, dora):
    client = browse(dora)
    page = client.get(PAGE).text
    assert page.count('<details class="panel"') == 5
    assert page.count('<details class="panel" id="control-plane" open>') == 1
    assert 'aria-current="step"' in page
    assert 'name="move" value="start"' in page
    assert 'value="go-back"' not in page
    assert client.post(f"{PAGE}move/", {"move": "start", "version": "0"}).url == PAGE
    page = client.get(PAGE).text
    for value in ("check", "confirm", "pause", "go-back", "go-on"):
        assert f'name="move" value="{value}"' in page
    refused = client.post(f"{PAGE}move/", {"move": "go-back", "version": "1"})
    assert refused.status_code == 422
    assert "Say why" in refused.text
    for wrong in ({}, {"move": "fly", "version": "1"}, {"move": "pause"}):
        answer = client.post(f"{PAGE}move/", wrong)
        assert answer.status_code == 409
        assert "by a button of this page" in answer.text


def test_who_may_look_and_who_may_move(loaded, browse, ada, eli):
    assert browse(ada).get(PAGE).status_code == 403
    client = browse(eli)
    page = client.get(PAGE).text
    assert "Canary pool" in page
    assert 'name="move"' not in page
    form = {"move": "start", "version": "0"}
    assert client.post(f"{PAGE}move/", form).status_code == 403
    assert "Nobody has begun" in client.get(f"{PAGE}record/").text


def test_manifests_are_saved_but_gpu_cluster_only_once_all_is_drained(
    loaded, load_fleets, browse, dora
):
    client = browse(dora)
    for name in MANIFESTS:
        answer = client.get(f"{PAGE}manifests/{name}")
        if name == "gpucluster.yaml":
            assert answer.status_code == 409
            assert "first drain the nodes" in answer.text
            continue
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert list(yaml.safe_load_all(answer.text)) == MANIFESTS[name]()
    assert client.get(f"{PAGE}manifests/other.yaml").status_code == 404


@pytest.mark.django_db
def test_many_nodes_are_as_many_queries(
    load_fleets, browse, dora, django_assert_max_num_queries
):
    extra = [node(f"gpu-{n}", runtime="containerd://2.0.1", gpus=8) for n in range(60)]
    load_fleets("nvidia-t4-l40s", extra=extra)
    client = browse(dora)
    client.get(PAGE)
    with django_assert_max_num_queries(25):
        page = client.get(PAGE).content
    assert len(page) < 60_000
