"""The harness itself: it starts what was asked for, and nothing outlives it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.build import supported_versions
from tests.cluster.client import Client, Object, Refused
from tests.cluster.controlplane import ControlPlane, NotReady

pytestmark = pytest.mark.cluster
OLDEST, NEWEST = list(supported_versions().values())


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not true in time"
        time.sleep(0.05)


def uid_of(cluster: ControlPlane) -> str:
    return cluster.admin.get("Namespace", "kube-system")["metadata"]["uid"]


def config_map(name: str) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    with ControlPlane(
        NEWEST, users={"dora@platform": ("slicewise:admins",)}
    ) as running:
        yield running


def test_each_component_runs_and_logs(cluster):
    assert set(cluster.pids) == {
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
    }
    assert all(is_running(pid) for pid in cluster.pids.values())
    assert f"v{NEWEST}" in cluster.log("kube-apiserver")


def test_a_kubeconfig_holds_all_that_a_client_needs(cluster):
    path = cluster.kubeconfig("dora@platform")
    config = json.loads(path.read_text())
    place = config["clusters"][0]["cluster"]
    token = config["users"][0]["user"]["token"]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    with Client(place["server"], token, Path(place["certificate-authority"])) as dora:
        who = dora.call(
            "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
        )

    assert who["status"]["userInfo"]["username"] == "dora@platform"
    assert "slicewise:admins" in who["status"]["userInfo"]["groups"]
    assert path.stat().st_mode & 0o077 == 0


def test_a_node_is_ready_and_without_taints(cluster):
    node = cluster.add_node("n1", {"zone": "a"})

    assert node["metadata"]["labels"] == {"kubernetes.io/hostname": "n1", "zone": "a"}
    assert not node["spec"].get("taints")
    assert [
        c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"
    ] == ["True"]


def test_apply_makes_the_stored_object_like_the_new_one(cluster):
    made = config_map("again") | {"data": {"a": "1"}}
    cluster.apply([made])

    (changed,) = cluster.apply([made | {"data": {"b": "2"}}])

    assert changed["data"] == {"b": "2"}
    assert "resourceVersion" not in made["metadata"]


def test_apply_passes_on_what_the_server_refuses(cluster):
    with pytest.raises(Refused, match="Invalid"):
        cluster.apply([config_map("Not A Name")])


def test_a_crash_of_the_api_server_loses_nothing(cluster):
    cluster.apply([config_map("kept")])
    before = uid_of(cluster)

    cluster.restart_api_server(crash=True)

    assert uid_of(cluster) == before
    assert cluster.admin.get("ConfigMap", "kept", "default")
    assert len(cluster.pids) == 4


def test_two_at_once_are_two_clusters_and_leave_nothing(cluster):
    with ControlPlane(OLDEST) as other:
        pids, state = other.pids, other.state
        assert uid_of(other) != uid_of(cluster)
        assert other.admin.call("GET", "/version")["gitVersion"] == f"v{OLDEST}"

    assert not any(is_running(pid) for pid in pids.values())
    assert not state.exists()
    assert uid_of(cluster)


def test_gates_and_runtime_config_reach_the_server():
    gates = {"DRAConsumableCapacity": True}
    served = {"resource.k8s.io/v1beta1": True}

    with ControlPlane(OLDEST, gates=gates, runtime_config=served) as cluster:
        metrics = cluster.admin.request("GET", "/metrics").text
        versions = cluster.admin.call("GET", "/apis/resource.k8s.io")["versions"]

    assert (
        'kubernetes_feature_enabled{name="DRAConsumableCapacity",stage="ALPHA"} 1'
        in metrics
    )
    assert {"v1", "v1beta1"} <= {each["version"] for each in versions}


def test_a_flag_that_is_wrong_is_told(tmp_path):
    flags = {"kube-apiserver": ["--no-such-flag"]}

    with (
        pytest.raises(NotReady, match="no-such-flag"),
        ControlPlane(NEWEST, flags=flags),
    ):
        pass


def test_a_state_folder_brings_the_same_cluster_back_and_has_one_user(tmp_path):
    with ControlPlane(NEWEST, state=tmp_path) as cluster:
        cluster.apply([config_map("kept")])
        uid, token = uid_of(cluster), cluster.credentials.tokens["slicewise"]
        with (
            pytest.raises(NotReady, match="in use"),
            ControlPlane(NEWEST, state=tmp_path),
        ):
            pass
        assert uid_of(cluster) == uid

    with ControlPlane(NEWEST, state=tmp_path) as again:
        assert uid_of(again) == uid
        assert again.credentials.tokens["slicewise"] == token
        assert again.admin.get("ConfigMap", "kept", "default")


def test_nothing_outlives_a_killed_harness(start_in_foreground):
    """Killed, it cannot tidy up: the kernel ends its children."""
    process, kubeconfig = start_in_foreground()
    children = children_of(process.pid)
    assert Path(kubeconfig).exists()
    assert len(children) == 4

    process.kill()
    process.wait()

    until(lambda: not any(is_running(pid) for pid in children))


def test_the_command_ends_with_ctrl_c_and_serves_the_portal(start_in_foreground):
    process, kubeconfig = start_in_foreground("--rbac", "--user", "slicewise")
    children = children_of(process.pid)
    config = json.loads(Path(kubeconfig).read_text())
    place, token = config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]
    with Client(place["server"], token, Path(place["certificate-authority"])) as portal:
        until(lambda: portal.can("list", "resourceslices"))
        assert not portal.can("create", "resourceclaims", "default")

    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=20) == 0
    assert not any(is_running(pid) for pid in children)


@pytest.fixture
def start_in_foreground(tmp_path: Path) -> Iterator[Callable[..., tuple[Any, str]]]:
    """Run the module as a program; gives it and the path that it prints."""
    command = [sys.executable, "-m", "tests.cluster.controlplane"]
    command += ["--version", NEWEST, "--state", str(tmp_path)]
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> tuple[subprocess.Popen[str], str]:
            process = subprocess.Popen(
                [*command, *options], stdout=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout
            return process, process.stdout.readline().strip()

        yield start


def children_of(pid: int) -> list[int]:
    return [
        int(each)
        for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]
