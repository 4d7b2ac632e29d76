"""Somebody who leads a cluster to DRA and back.

The same walk for the simulated API server and for real ones.
"""

from __future__ import annotations

from portal.adoption.services.migrating import plan_view
from tests.integration.adoption.scene import (
    CANARY_LABEL,
    DRIVER,
    GPU,
    KINDS,
    NAME,
    NEW,
    OLD,
    PLUGIN_LABEL,
    SPACE,
    Scene,
)


class Guide:
    """Leads a scene's cluster over REST as an admin; reads gates as the page does."""

    def __init__(self, scene, caller, admin):
        self.scene, self.caller, self.admin = scene, caller, admin
        self.path = f"clusters/{NAME}/adoption/plan"

    def move(self, move, reason="", *, status=200):
        """Make a move; return the answer."""
        self.scene.observe()
        etag = self.caller.get(self.path)["ETag"]
        body = {"move": move, "reason": reason}
        answer = self.caller.post(f"{self.path}/moves", body, If_Match=etag)
        assert answer.status_code == status, answer.content
        return answer.json()

    def at(self):
        found = self.caller.get(self.path).json()
        return found["phase"], found["state"]

    def gate(self):
        """Return code → answer of the current phase's gate."""
        lines = plan_view(self.scene.row, self.admin).current.lines
        return {each.code: each.answer.value for each in lines}

    def green(self):
        """Wait until the gate is green, then have that noted."""
        self.scene.until(lambda: set(self.gate().values()) == {"yes"})
        assert self.move("check")["state"] == "GateGreen"


def walk(scene: Scene, guide: Guide) -> None:
    """Go through all phases to the end, then back through all of them."""
    scene.begin()
    forth_control_plane(scene, guide)
    forth_canary(scene, guide)
    forth_mapping(scene, guide)
    forth_templates(scene, guide)
    forth_drain(scene, guide)
    assert guide.at() == ("drain", "Done")
    back(scene, guide)
    assert guide.at() == ("control-plane", "RolledBack")
    assert guide.move("start")["state"] == "Running"


def forth_control_plane(scene, guide):
    guide.move("start")
    refused = guide.move("go-on", status=409)
    assert refused["code"] == "migration.refused"
    assert "container runtime" in refused["detail"]
    for kind in KINDS:
        scene.status(f"old-{kind}", NEW, gpus=2)
    guide.green()
    assert guide.move("go-on")["phase"] == "canary"


def forth_canary(scene, guide):
    guide.move("start")
    assert guide.gate()["gate.canary"] == "no"
    taint = {"key": CANARY_LABEL, "value": "true", "effect": "NoSchedule"}
    for kind, labels in KINDS.items():
        own = {**labels, CANARY_LABEL: "true", PLUGIN_LABEL: "false"}
        scene.node(f"canary-{kind}", NEW, own, taints=[taint])
    scene.daemons("dra-driver", DRIVER, {CANARY_LABEL: "true"}, "dra-driver")
    scene.observe()
    assert guide.gate()["gate.slices"] == "no"
    for kind in KINDS:
        scene.publish(f"canary-{kind}", kind)
    guide.green()
    # Both drivers on a node: by what may run there, and by what it offers.
    scene.label("canary-mig", **{PLUGIN_LABEL: "true"})
    assert guide.move("check")["state"] == "Running"
    assert guide.gate()["gate.one_driver"] == "no"
    scene.label("canary-mig", **{PLUGIN_LABEL: "false"})
    scene.status("canary-mig", "", gpus=2)
    assert guide.move("check")["state"] == "Running"
    scene.status("canary-mig", "", gpus=0)
    guide.move("pause")
    guide.move("resume")
    guide.green()
    assert guide.move("go-on")["phase"] == "mapping"


def forth_mapping(scene, guide):
    guide.move("start")
    assert guide.gate() == {"gate.mapped": "no", "gate.implicit": "no"}
    scene.map(GPU)
    scene.probe()
    guide.green()
    assert guide.move("go-on")["phase"] == "templates"


def forth_templates(scene, guide):
    guide.move("start")
    assert guide.gate()["gate.claims"] == "no"
    for kind in KINDS:
        scene.native(kind)
    guide.green()
    assert guide.move("go-on")["phase"] == "drain"


def forth_drain(scene, guide):
    guide.move("start")
    scene.pod("left", limits={GPU: "1"}, canary=False)
    scene.until(lambda: guide.gate()["gate.plugin_pods"] == "no")
    scene.delete("Pod", "left", SPACE)
    for kind in KINDS:
        moved = {PLUGIN_LABEL: "false", CANARY_LABEL: "true"}
        scene.label(f"old-{kind}", **moved)
        scene.status(f"old-{kind}", "", gpus=0)
        scene.publish(f"old-{kind}", kind)
    scene.until(
        lambda: (
            guide.gate()
            == {
                "gate.plugin_gone": "yes",
                "gate.plugin_pods": "yes",
                "gate.all_in_slices": "yes",
                "gate.switched": "no",
            }
        )
    )
    # Both at once are refused.
    scene.manifest("gpucluster.yaml")
    refused = guide.move("go-on", status=409)
    assert "not there together" in refused["detail"]
    scene.delete("GPUCluster", "gpu-cluster")
    scene.delete("ClusterPolicy", "cluster-policy")
    scene.manifest("gpucluster.yaml")
    guide.green()
    guide.move("go-on")


def back(scene, guide):
    """Undo the phases from the last to the first; each gate is green no more."""
    guide.move("go-back", status=422)
    guide.move("go-back", "Drivers crash on two nodes.")
    assert guide.at() == ("drain", "RolledBack")
    scene.delete("GPUCluster", "gpu-cluster")
    scene.policy()
    for kind in KINDS:
        scene.delete("ResourceSlice", f"old-{kind}-gpus")
        scene.label(f"old-{kind}", **{PLUGIN_LABEL: "true", CANARY_LABEL: None})
        scene.status(f"old-{kind}", "", gpus=2)
    scene.until(lambda: guide.gate()["gate.plugin_gone"] == "no")
    assert guide.gate()["gate.switched"] == "no"

    guide.move("go-back", "Jobs fail.")
    for kind in KINDS:
        scene.delete("Pod", f"native-{kind}", SPACE)
        scene.delete("ResourceClaimTemplate", f"one-{kind}", SPACE)
    scene.until(lambda: guide.gate()["gate.claims"] == "no")

    guide.move("go-back", "Jobs fail.")
    for pod in scene.client.list("Pod")["items"]:
        if pod["metadata"]["namespace"] == SPACE:
            scene.delete("Pod", pod["metadata"]["name"], SPACE)
    scene.map(None)
    scene.until(lambda: set(guide.gate().values()) == {"no"})

    guide.move("go-back", "Jobs fail.")
    for kind in KINDS:
        scene.delete("ResourceSlice", f"canary-{kind}-gpus")
        scene.delete("Node", f"canary-{kind}")
    scene.delete("DaemonSet", "nvidia-dra-driver", "dra-driver")
    scene.until(lambda: guide.gate()["gate.canary"] == "no")
    assert guide.gate()["driver.ready"] == "no"

    guide.move("go-back", "Nodes are rolled back.")
    for kind in KINDS:
        scene.status(f"old-{kind}", OLD, gpus=2)
    scene.until(lambda: guide.gate()["gate.runtimes"] == "no")
