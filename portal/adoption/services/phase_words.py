"""What is said of phases, their states, moves, actions and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from portal.adoption.domain.phases import Move, Phase, State
from portal.adoption.domain.readiness import Answer
from portal.adoption.services.words import EVIDENCE, TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.utils.functional import _StrPromise

    from portal.adoption.domain.readiness import Verdict

PHASES: dict[Phase, tuple[_StrPromise, _StrPromise]] = {
    Phase.CONTROL_PLANE: (
        _("Control plane and runtime"),
        _("Kubernetes serves DRA, and runtimes hand devices to containers by CDI."),
    ),
    Phase.CANARY: (
        _("Canary pool"),
        _("The DRA driver runs on a few nodes of their own, without a device plugin."),
    ),
    Phase.MAPPING: (
        _("Mapping"),
        _("Pods that ask for nvidia.com/gpu are served by claims, unchanged."),
    ),
    Phase.TEMPLATES: (
        _("Native templates"),
        _("Workloads ask by claims of their own, for what they really need."),
    ),
    Phase.DRAIN: (
        _("Cordon and drain"),
        _("The last nodes leave the device plugin, and one operator’s object stays."),
    ),
}
STATES: dict[State, tuple[str, _StrPromise]] = {
    State.NOT_STARTED: ("", pgettext_lazy("phase", "Not started")),
    State.RUNNING: ("info", pgettext_lazy("phase", "Running")),
    State.GATE_GREEN: ("good", pgettext_lazy("phase", "Gate green")),
    State.DONE: ("good", pgettext_lazy("phase", "Done")),
    State.PAUSED: ("warn", pgettext_lazy("phase", "Paused")),
    State.ROLLED_BACK: ("warn", pgettext_lazy("phase", "Rolled back")),
}
GATES: dict[Answer, _StrPromise] = {
    Answer.YES: pgettext_lazy("gate", "green"),
    Answer.NO: pgettext_lazy("gate", "not yet"),
    Answer.UNKNOWN: pgettext_lazy("gate", "not known"),
}
MOVES: dict[Move, _StrPromise] = {
    Move.START: pgettext_lazy("phase", "Start"),
    Move.CHECK: pgettext_lazy("phase", "Check the gate"),
    Move.CONFIRM: pgettext_lazy("phase", "Answer for what is unknown"),
    Move.GO_ON: pgettext_lazy("phase", "Go on"),
    Move.PAUSE: pgettext_lazy("phase", "Pause"),
    Move.RESUME: pgettext_lazy("phase", "Resume"),
    Move.GO_BACK: pgettext_lazy("phase", "Go back"),
}
ACTIONS: dict[str, _StrPromise] = {
    "save": _("Save the configuration as it is, to be able to restore it."),
    "upgrade": _(
        "Upgrade the control plane to 1.34.2 or later, then see what it serves."
    ),
    "runtime": _(
        "Node by node: drain it, upgrade its runtime to containerd 1.7.18 or 2.0 or to"
        " CRI-O, and let pods return."
    ),
    "cdi": _("Switch CDI on, and look at nodes whether it is."),
    "restore": _("Restore the saved configuration."),
    "roll": _("Roll the nodes: drain each, put its runtime back, and let pods return."),
    "pool": _(
        "With Karpenter: make a pool of new nodes with the label and the taint"
        " nvidia.com/dra-enabled. First name your own node class in the file."
    ),
    "take": _("Or take nodes that are there: one of each kind is enough."),
    "limit": _("Limit the device plugin to other nodes, by its nodeSelector."),
    "chart": _(
        "Install the DRA driver’s chart on those nodes alone. A ClusterPolicy stays."
    ),
    "leave": _("Drain the pool’s nodes."),
    "scale": _("With Karpenter: scale the pool to 0."),
    "uninstall": _("Uninstall the driver’s chart."),
    "return": _("Give nodes that were taken back to the device plugin."),
    "map": _(
        "Map nvidia.com/gpu to the class; the portal tries it first and shows what changes."
    ),
    "probe": _(
        "Start a pod that asks for nvidia.com/gpu: 1 as ever, and see its claim."
    ),
    "unprobe": _("Delete the probe."),
    "unmap": _("Take the field extendedResourceName away."),
    "native": _("Start a pod that asks by a template, and see its claim."),
    "convert": _(
        "Workload by workload: save it, convert it, and apply what the portal wrote."
    ),
    "watch": _("See all claims allocated and reserved."),
    "undo": _("Roll workloads back to their revisions before."),
    "unprobe_native": _("Delete the probe and its template."),
    "cordon": _("Cordon the nodes that are left with the device plugin."),
    "drain": _("Drain them one by one."),
    "move": _("Let the DRA driver run there in its place."),
    "guard": _("Have the API server refuse a GPUCluster beside a ClusterPolicy."),
    "switch": _(
        "Switch once: save and delete the ClusterPolicy, then create the GPUCluster. Read"
        " first whether your operator’s release supports that."
    ),
    "switch_back": _("Delete the GPUCluster first, then restore the ClusterPolicy."),
    "uncordon": _("Stop draining."),
    "scale_out": _("Scale the old pool out: give nodes back to the device plugin."),
}
_SLICES = _("ResourceSlices or nodes of this cluster are not read.")
_PODS = _("Pods or claims of this cluster are not read.")
_NO_CANARY = _("No node has the label nvidia.com/dra-enabled.")
_NO_NODE = _("No node with GPUs is known.")
_NO_NATIVE = _("No pod uses a claim of its own for GPUs.")
GATE_TITLES: dict[str, _StrPromise] = {
    "gate.runtimes": _("Every container runtime knows CDI"),
    "gate.canary": _("There is a canary pool"),
    "gate.slices": _("Each node of the pool publishes slices"),
    "gate.one_driver": _("No node has both drivers"),
    "gate.mapped": _("A class maps nvidia.com/gpu"),
    "gate.implicit": _("An unchanged pod got its claim on a canary node"),
    "gate.claims": _("Claims are allocated and reserved"),
    "gate.prepared": _("Their devices are prepared"),
    "gate.plugin_gone": _("No pod of a device plugin is left"),
    "gate.plugin_pods": _("No workload is left on a device plugin"),
    "gate.all_in_slices": _("Every GPU is in slices"),
    "gate.switched": _("GPUCluster has taken the place of ClusterPolicy"),
}
GATE_EVIDENCE: dict[tuple[str, str], _StrPromise] = {
    ("gate.runtimes", "new"): _("All nodes with GPUs run one that does: %(count)d."),
    ("gate.runtimes", "old"): _("Too old: %(names)s."),
    ("gate.runtimes", "untold"): _("Not known of: %(names)s."),
    ("gate.runtimes", "none"): _NO_NODE,
    ("gate.runtimes", "unread"): _("Nodes of this cluster are not read."),
    ("gate.canary", "is"): _("Labelled nvidia.com/dra-enabled: %(names)s."),
    ("gate.canary", "none"): _NO_CANARY,
    ("gate.canary", "unread"): _("Nodes of this cluster are not read."),
    ("gate.slices", "all"): _("All nodes of the pool do: %(count)d."),
    ("gate.slices", "missing"): _("None from: %(names)s."),
    ("gate.slices", "none"): _NO_CANARY,
    ("gate.slices", "unread"): _SLICES,
    ("gate.one_driver", "one"): _(
        "No node with slices is offered GPUs by a device plugin, nor selected by one."
    ),
    ("gate.one_driver", "both"): _(
        "A device plugin offers GPUs as well on: %(names)s."
    ),
    ("gate.one_driver", "plugin_both"): _(
        "%(names)s selects nodes that publish slices."
    ),
    ("gate.one_driver", "plugin_unread"): _(
        "DaemonSets of this cluster may not be read."
    ),
    ("gate.one_driver", "unread"): _SLICES,
    ("gate.mapped", "is"): _("extendedResourceName is set by: %(names)s."),
    ("gate.mapped", "none"): _("No class has extendedResourceName: nvidia.com/gpu."),
    ("gate.mapped", "unread"): _("DeviceClasses of this cluster are not read."),
    ("gate.implicit", "got"): _("%(pod)s has the devices of %(claim)s on %(node)s."),
    ("gate.implicit", "elsewhere"): _(
        "Claims were made, but none with devices on a canary node: %(names)s."
    ),
    ("gate.implicit", "none"): _("No pod on nvidia.com/gpu has a claim yet."),
    ("gate.implicit", "unread"): _PODS,
    ("gate.claims", "all"): _(
        "Claims of pods on nodes that are so: %(count)d. Pods that still wait for room:"
        " %(waiting)d."
    ),
    ("gate.claims", "missing"): _("Not so: %(names)s."),
    ("gate.claims", "waiting"): _(
        "Pods with such claims wait, and none runs on a node."
    ),
    ("gate.claims", "none"): _NO_NATIVE,
    ("gate.claims", "unread"): _PODS,
    ("gate.prepared", "run"): _("Pods with such claims that run: %(count)d."),
    ("gate.prepared", "pending"): _("On a node, but not running yet: %(names)s."),
    ("gate.prepared", "lost"): _("Their nodes do not tell how they are: %(names)s."),
    ("gate.prepared", "none"): _NO_NATIVE,
    ("gate.prepared", "unread"): _PODS,
    ("gate.plugin_gone", "gone"): _("No DaemonSet of NVIDIA’s device plugin has pods."),
    ("gate.plugin_gone", "left"): _("Pods left: %(count)d, of %(names)s."),
    ("gate.plugin_gone", "unread"): _("DaemonSets of this cluster may not be read."),
    ("gate.plugin_pods", "none"): _("No pod on a node has GPUs that no claim gave it."),
    ("gate.plugin_pods", "left"): _("Pods left: %(count)d, such as %(names)s."),
    ("gate.plugin_pods", "unread"): _("Pods of this cluster are not read."),
    ("gate.all_in_slices", "all"): _(
        "All nodes with GPUs publish them: %(count)d. Where nvidia.com/gpu.count tells"
        " their number, it is the same."
    ),
    ("gate.all_in_slices", "missing"): _("No slices from: %(names)s."),
    ("gate.all_in_slices", "offered"): _(
        "A device plugin still offers GPUs on: %(names)s."
    ),
    ("gate.all_in_slices", "fewer"): _(
        "Fewer GPUs in slices than on the node: %(names)s."
    ),
    ("gate.all_in_slices", "none"): _NO_NODE,
    ("gate.all_in_slices", "unread"): _SLICES,
    ("gate.switched", "cluster"): _("There is the GPUCluster %(clusters)s alone."),
    ("gate.switched", "none"): _(
        "The cluster has neither, so there is nothing to switch."
    ),
    ("gate.switched", "both"): _(
        "Both are there: delete the ClusterPolicy %(policies)s or the GPUCluster"
        " %(clusters)s."
    ),
    ("gate.switched", "policy"): _(
        "The ClusterPolicy %(policies)s is still there: switch once the rest is so."
    ),
    ("gate.switched", "unread"): _(
        "Neither ClusterPolicy nor GPUCluster is served, or they may not be read."
    ),
}


def line_title(code: str) -> str:
    """Return what a line of a gate asks, as a statement that may be true."""
    return str(GATE_TITLES.get(code) or TITLES.get(code) or code)


def line_evidence(code: str, why: str, values: Mapping[str, Any]) -> str:
    """Return what a line's answer is known from; old records may have lost theirs."""
    words = GATE_EVIDENCE.get((code, why)) or EVIDENCE.get((code, why))
    return str(words) % values if words else why


def titles_of(verdicts: tuple[Verdict, ...] | list[Verdict]) -> str:
    """Return what some lines ask, in one text."""
    return "; ".join(line_title(each.code) for each in verdicts)
