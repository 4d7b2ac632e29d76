"""The Helm chart: rendered by Helm itself, installed in a real API server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster import build
from tests.cluster.controlplane import ControlPlane

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "slicewise"
SPACE = "gpu-portal"
KUBECTL = Path(sys.executable).with_name("kubectl")
BLOCK = re.compile(r"^```sh cluster\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALL = [
    *("--set", "admission.enabled=true", "--set", "ingress.enabled=true"),
    *(
        "--set",
        "podDisruptionBudget.enabled=true",
        "--set",
        "engine.minors={1.34,1.37}",
    ),
    *("--set", "backup.enabled=true", "--set", "backup.claim=copies"),
]
# What the operator's own definition says of the fields that the chart uses.
MONITOR = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, plural: servicemonitors}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [selector, endpoints]
              properties:
                selector:
                  type: object
                  properties:
                    matchLabels: {type: object, additionalProperties: {type: string}}
                endpoints:
                  type: array
                  items:
                    type: object
                    properties:
                      port: {type: string}
                      path: {type: string}
                      interval: {type: string, pattern: "^[0-9]+(s|m)$"}
                      authorization:
                        type: object
                        properties:
                          type: {type: string}
                          credentials:
                            type: object
                            required: [key]
                            properties:
                              name: {type: string}
                              key: {type: string}
                              optional: {type: boolean}
"""
RENDER = ["template", "slicewise", str(CHART), "--kube-version", "1.37.2", "-n", SPACE]


@pytest.fixture(scope="module")
def plane():
    with ControlPlane("1.37.2") as made:
        yield made


@pytest.fixture(scope="module")
def helm(tmp_path_factory):
    program, home = build.helm(), tmp_path_factory.mktemp("helm")
    homes = {
        f"HELM_{kind}_HOME": str(home / kind) for kind in ("CACHE", "CONFIG", "DATA")
    }

    def run(
        *arguments: str, kubeconfig: Path | None = None, fails: bool = False
    ) -> str:
        env = os.environ | homes | {"KUBECONFIG": str(kubeconfig or home / "none")}
        done = subprocess.run(
            [str(program), *arguments], env=env, capture_output=True, text=True
        )
        assert (done.returncode != 0) is fails, done.stderr
        return done.stderr if fails else done.stdout

    return run


@pytest.fixture(scope="module")
def kubectl(plane):
    config = plane.kubeconfig()

    def run(*arguments: str, given: str = "") -> str:
        command = [str(KUBECTL), "--kubeconfig", str(config), *arguments]
        done = subprocess.run(command, input=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _objects(text: str) -> list[dict]:
    return [each for each in yaml.safe_load_all(text) if each]


def _named(objects: list[dict], kind: str, name: str) -> dict:
    return next(
        each
        for each in objects
        if each["kind"] == kind and each["metadata"]["name"] == name
    )


def _pods(objects: list[dict]) -> dict[str, dict]:
    kinds = ("Deployment", "Job", "CronJob")
    found = {
        each["metadata"]["name"]: each["spec"]
        for each in objects
        if each["kind"] in kinds
    }
    jobs = {name: each.get("jobTemplate", {}) for name, each in found.items()}
    return {
        name: jobs[name].get("spec", each)["template"]["spec"]
        for name, each in found.items()
    }


def _containers(pod: dict) -> list[dict]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def _set(given: str) -> list[str]:
    return [*RENDER, "--set", given]


def test_lint_finds_nothing(helm):
    assert "0 chart(s) failed" in helm(
        "lint", "--strict", str(CHART), "--kube-version", "1.37.2"
    )


def test_every_container_may_do_nothing(helm):
    pods = _pods(_objects(helm(*RENDER, *ALL)))
    assert set(pods) == {
        *("slicewise-web", "slicewise-watcher", "slicewise-worker", "slicewise-beat"),
        *("slicewise-admission", "slicewise-migrate", "slicewise-backup"),
    }
    for name, pod in pods.items():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in _containers(pod):
            allowed = container["securityContext"]
            assert allowed["readOnlyRootFilesystem"] is True, name
            assert allowed["allowPrivilegeEscalation"] is False, name
            assert allowed["capabilities"] == {"drop": ["ALL"]}, name
            assert "memory" in container["resources"]["limits"], name


def test_every_process_is_probed_and_engines_stand_beside_those_that_ask_them(helm):
    pods = _pods(_objects(helm(*RENDER, *ALL)))
    for name in ("web", "watcher", "worker", "beat", "admission"):
        pod = pods[f"slicewise-{name}"]
        (process,) = pod["containers"]
        assert {"livenessProbe", "readinessProbe"} <= set(process), name
        beside = pod.get("initContainers", [])
        # So they are there before who asks them, and end after it.
        assert {each["restartPolicy"] for each in beside} <= {"Always"}
        engines = [each["command"][0] for each in beside]
        wanted = ["/app/engine/bin/engine-1.34", "/app/engine/bin/engine-1.37"]
        assert engines == (wanted if name in {"web", "worker", "admission"} else []), (
            name
        )


def test_engines_are_probed_and_only_their_containers_start_them(helm):
    pods = _pods(_objects(helm(*RENDER, *ALL)))
    for name, pod in pods.items():
        (process,) = pod["containers"]
        env = {each["name"]: each["value"] for each in process["env"]}
        beside = pod.get("initContainers", [])
        waits = "true" if beside else None
        assert env.get("SLICEWISE_ENGINES_EXTERNAL") == waits, name
        for engine in beside:
            minor = engine["command"][0].rpartition("-")[2]
            probe = engine["livenessProbe"]["exec"]["command"]
            assert probe == ["python", "-m", "portal.alive", f"engine-{minor}"]
            assert engine["command"][2] == f"/run/slicewise/engine-{minor}.sock"


def test_who_may_have_reviews_answered_can_be_narrowed(helm):
    def made(*more: str) -> tuple[list[dict], dict]:
        objects = _objects(helm(*RENDER, *ALL, *more))
        policy = _named(objects, "NetworkPolicy", "slicewise-admission")
        return policy["spec"]["ingress"], _pods(objects)["slicewise-admission"]

    port = {"ports": [{"protocol": "TCP", "port": 9443}]}
    rules, pod = made()
    assert rules == [port]
    assert "--client-ca" not in pod["containers"][0]["command"]
    peers = '[{"ipBlock":{"cidr":"10.0.0.0/28"}}]'
    rules, pod = made(
        "--set-json", f"admission.from={peers}", "--set", "admission.clientCA=api-ca"
    )
    assert rules == [port | {"from": [{"ipBlock": {"cidr": "10.0.0.0/28"}}]}]
    (process,) = pod["containers"]
    (mount,) = (m for m in process["volumeMounts"] if m["name"] == "client-ca")
    (volume,) = (v for v in pod["volumes"] if v["name"] == "client-ca")
    assert volume["secret"] == {"secretName": "api-ca"}
    assert process["command"][-2:] == ["--client-ca", f"{mount['mountPath']}/ca.crt"]


def test_what_is_sent_requests_answers_a_while_after_it_is_told_to_end(helm):
    pods = _pods(_objects(helm(*_set("drainSeconds=7"), *ALL)))
    for name in ("web", "admission", "watcher", "worker", "beat"):
        pod = pods[f"slicewise-{name}"]
        (process,) = pod["containers"]
        waits = 7 if name in {"web", "admission"} else 0
        wanted = {"preStop": {"sleep": {"seconds": 7}}} if waits else None
        assert process.get("lifecycle") == wanted, name
        # The pause counts towards it; what was begun still gets its half minute.
        assert pod["terminationGracePeriodSeconds"] == 30 + waits


@pytest.mark.parametrize(
    ("given", "trusted"),
    [
        ("drainSeconds=5", ""),
        ("trustedProxies={10.244.0.0/16,192.0.2.7}", "10.244.0.0/16,192.0.2.7"),
    ],
)
def test_nobody_says_who_asks_but_proxies_that_are_named(helm, given, trusted):
    (web,) = _pods(_objects(helm(*_set(given))))["slicewise-web"]["containers"]
    env = {each["name"]: each["value"] for each in web["env"]}
    assert env["FORWARDED_ALLOW_IPS"] == trusted


def test_where_to_may_be_narrowed_and_names_are_still_found(helm):
    def egress(*more: str) -> list[dict]:
        policy = _named(_objects(helm(*RENDER, *more)), "NetworkPolicy", "slicewise")
        return policy["spec"]["egress"]

    anywhere, inside = (
        "networkPolicy.egressPorts=[]",
        '[{"ipBlock":{"cidr":"10.0.0.0/8"}}]',
    )
    peers = ("--set-json", f"networkPolicy.egressTo={inside}")
    names = [{"protocol": each, "port": 53} for each in ("UDP", "TCP")]
    ports = [{"protocol": "TCP", "port": each} for each in (443, 6443, 5432, 6379)]
    assert egress() == [{"ports": names}, {"ports": ports}]
    there = {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
    assert egress(*peers) == [{"ports": names}, {"ports": ports} | there]
    assert egress("--set-json", anywhere, *peers) == [{"ports": names}, there]
    assert egress("--set-json", anywhere) == [{}]


def test_rights_are_those_of_the_one_file(helm):
    objects = _objects(helm(*RENDER, "--set", "rbac.groups={slicewise:lily}"))
    original = _objects((ROOT / "deploy" / "rbac.yaml").read_text())
    name = "slicewise:reader"
    assert (
        _named(objects, "ClusterRole", name)["rules"]
        == _named(original, "ClusterRole", name)["rules"]
    )
    role = _named(objects, "ClusterRole", "slicewise:impersonator")
    assert role["rules"][1]["resourceNames"] == ["slicewise:lily"]
    binding = _named(objects, "ClusterRoleBinding", name)
    assert binding["subjects"][0]["namespace"] == SPACE


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("engine.minors={1.33}", "minors"),
        ("web.replica=3", "replica"),
        ("rbac.groups={system:masters}", "groups"),
        ("env.lower=x", "lower"),
        ("existingSecret=", "existingSecret"),
        ("trustedProxies={*}", "trustedProxies"),
        ("drainSeconds=-1", "drainSeconds"),
        ("backup.enabled=true", "claim"),
        ("admission.clientCA=a b", "clientCA"),
        ("admission.from=10.0.0.0/8", "from"),
        ("backup.schedule=nightly", "schedule"),
    ],
)
def test_a_mistyped_value_is_refused(helm, given, named):
    assert named in helm(*RENDER, "--set", given, fails=True)


def test_it_is_installed_changed_and_taken_away(plane, helm, kubectl):
    config = plane.kubeconfig()
    kubectl("create", "namespace", SPACE)
    rendered = helm(*RENDER, *ALL)
    kubectl(
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
        given=rendered,
    )
    release = ("slicewise", str(CHART), "-n", SPACE, *ALL)
    with _jobs_end(plane, SPACE) as ran:
        said = helm("install", *release, kubeconfig=config)
    assert "name it in trustedProxies" in said
    assert ran == ["python manage.py migrate --noinput"]
    found = json.loads(
        kubectl(
            "get",
            "deployments,pdb,networkpolicies,services,ingresses,cronjobs",
            "-n",
            SPACE,
            "-o",
            "json",
        )
    )
    names = {(each["kind"], each["metadata"]["name"]) for each in found["items"]}
    assert ("Deployment", "slicewise-worker") in names
    assert ("PodDisruptionBudget", "slicewise-watcher") in names
    assert ("NetworkPolicy", "slicewise-admission") in names
    assert ("CronJob", "slicewise-backup") in names
    account = f"--as=system:serviceaccount:{SPACE}:slicewise"
    assert (
        kubectl("auth", "can-i", "list", "resourceslices.resource.k8s.io", account)
        == "yes\n"
    )
    with _jobs_end(plane, SPACE) as ran:
        more = ("--set", "web.replicas=3", "--set", "trustedProxies={10.0.0.0/8}")
        said = helm("upgrade", *release, *more, kubeconfig=config)
    assert "trustedProxies" not in said
    assert ran == ["python manage.py migrate --noinput"]
    web = kubectl(
        "get",
        "deployment",
        "slicewise-web",
        "-n",
        SPACE,
        "-o",
        "jsonpath={.spec.replicas}",
    )
    assert web == "3"
    helm("uninstall", "slicewise", "-n", SPACE, kubeconfig=config)
    left = json.loads(kubectl("get", "deployments", "-n", SPACE, "-o", "json"))["items"]
    assert left == []


@contextlib.contextmanager
def _jobs_end(plane: ControlPlane, space: str) -> Iterator[list[str]]:
    """Say of each Job's pod that it succeeded, as a kubelet would once it had run it.

    Yields the commands of these pods, in their order.
    """
    over = threading.Event()
    ran: dict[str, str] = {}

    def work() -> None:
        client = plane.client()
        while not over.wait(0.2):
            for pod in client.call("GET", f"/api/v1/namespaces/{space}/pods")["items"]:
                owners = pod["metadata"].get("ownerReferences", [])
                if owners and owners[0]["kind"] == "Job":
                    command = pod["spec"]["containers"][0]["command"]
                    ran[pod["metadata"]["uid"]] = " ".join(command)
                    pod |= {"apiVersion": "v1", "kind": "Pod"}
                    client.patch(pod, {"status": {"phase": "Succeeded"}}, "status")
        client.close()

    thread = threading.Thread(target=work)
    thread.start()
    commands: list[str] = []
    try:
        yield commands
    finally:
        over.set()
        thread.join()
        commands += ran.values()


def test_the_admin_guide_installs_it_as_written(plane, kubectl, tmp_path):
    """Word for word; only the kubelet that runs the migration is played."""
    install, remove = BLOCK.findall((ROOT / "docs" / "admin.md").read_text())
    programs = f"{build.helm().parent}:{KUBECTL.parent}:{os.environ['PATH']}"
    env = os.environ | {"PATH": programs, "KUBECONFIG": str(plane.kubeconfig())}
    env |= {f"HELM_{k}_HOME": str(tmp_path / k) for k in ("CACHE", "CONFIG", "DATA")}

    def done(block: str) -> None:
        command = ["bash", "-euo", "pipefail", "-c", block]
        said = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120
        )
        assert said.returncode == 0, f"{block}{said.stdout}{said.stderr}"

    with _jobs_end(plane, "slicewise"):
        done(install)

    found = json.loads(kubectl("get", "deployments", "-n", "slicewise", "-o", "json"))
    images = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0][
            "image"
        ]
        for each in found["items"]
    }
    assert set(images) == {
        f"slicewise-{p}" for p in ("web", "watcher", "worker", "beat")
    }
    assert set(images.values()) == {"REGISTRY/slicewise:0.1.0"}
    done(remove)
    assert kubectl("get", "deployments", "-n", "slicewise", "-o", "name") == ""


def test_the_guides_render_it_as_written(tmp_path):
    blocks = re.findall(
        r"^```sh render\n(.*?)^```$",
        (ROOT / "docs" / "admin.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    programs = f"{build.helm().parent}:{os.environ['PATH']}"
    env = os.environ | {"PATH": programs}
    env |= {f"HELM_{k}_HOME": str(tmp_path / k) for k in ("CACHE", "CONFIG", "DATA")}
    policies = []
    for block in blocks:
        said = subprocess.run(
            ["bash", "-euc", block], cwd=ROOT, env=env, capture_output=True, text=True
        )
        assert said.returncode == 0, f"{block}{said.stderr}"
        policies.append(_named(_objects(said.stdout), "NetworkPolicy", "slicewise"))
    ports, peers = (each["spec"]["egress"][1] for each in policies)
    assert {"protocol": "TCP", "port": 587} in ports["ports"]
    assert "to" not in ports
    assert len(peers["to"]) == 3


def test_a_service_monitor_is_taken_where_its_kind_is(plane, helm, kubectl):
    rendered = helm(*RENDER, "--set", "serviceMonitor.enabled=true")
    monitor = _named(_objects(rendered), "ServiceMonitor", "slicewise")
    service = _named(_objects(rendered), "Service", "slicewise")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    kubectl("apply", "-f", "-", given=MONITOR)
    kind = "customresourcedefinition/servicemonitors.monitoring.coreos.com"
    kubectl("wait", "--for=condition=Established", "--timeout=60s", kind)
    kubectl("create", "namespace", "monitored")
    monitor["metadata"]["namespace"] = "monitored"
    kubectl("apply", "--validate=strict", "-f", "-", given=json.dumps(monitor))
    kept = json.loads(
        kubectl("get", "servicemonitor", "slicewise", "-n", "monitored", "-o", "json")
    )
    # What the kind does not know would have been dropped.
    assert kept["spec"] == monitor["spec"]
