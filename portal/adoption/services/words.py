"""What is said of each verdict: the question, the evidence, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from portal.adoption.domain.readiness import Answer, Verdict

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

ANSWERS = {Answer.YES: _("yes"), Answer.NO: _("no"), Answer.UNKNOWN: _("unknown")}
BADGES = {Answer.YES: "good", Answer.NO: "bad", Answer.UNKNOWN: "warn"}
_SLICES = _("ResourceSlices of this cluster are not read.")
_DAEMON_SETS = _("DaemonSets of this cluster may not be read.")
_VERSION = _("The API server runs %(version)s.")
_NO_VERSION = _("The API server’s version is not known.")
_INFERRED = _("Inferred from version %(version)s and the cluster’s gates; not tried.")
_TAGS = _("Its images are tagged %(versions)s.")
_OPERATORS = _(
    "Neither ClusterPolicy nor GPUCluster is served, or they may not be read."
)
_OPERATOR = _("The GPU operator’s labels say %(version)s.")
_OPERATOR_UNTOLD = _("The GPU operator’s object has no label that tells its version.")
_OPERATOR_NONE = _("There is neither a ClusterPolicy nor a GPUCluster.")

TITLES: dict[str, _StrPromise] = {
    "resource.v1": _("resource.k8s.io/v1 is served (AI conformance)"),
    "server.version": _("Kubernetes 1.34.2 or later"),
    "mapping.on": _("Extended resources can be mapped to device classes"),
    "mapping.stable": _("That mapping is stable (Kubernetes 1.37)"),
    "partitions.on": _("Partitions can be made on demand, as of MIG"),
    "shares.on": _("Devices can be shared by capacity"),
    "driver.ready": _("The DRA driver’s DaemonSet is ready"),
    "driver.version": _("The DRA driver is v0.5.0 or later"),
    "operator.cdi": _("The GPU operator is 25.10.0 or later, with CDI by default"),
    "operator.gpu_cluster": _("The GPU operator is 26.7.1 or later, for GPUCluster"),
    "operator.one": _("ClusterPolicy and GPUCluster are not there together"),
    "plugin.limited": _("Device plugins stay away from nodes that publish slices"),
    "mig.strategy": _("The MIG strategy keeps profiles apart"),
    "node.runtime": _("The container runtime knows CDI"),
    "node.cdi": _("CDI is switched on"),
    "node.gpu_driver": _("The GPU driver is 580 or later"),
    "node.registered": _("The DRA driver has published the node’s GPUs"),
    "node.one_driver": _("One driver alone offers the node’s GPUs"),
    "node.mig": _("Slices publish what the MIG manager was told to make"),
}
EVIDENCE: dict[tuple[str, str], _StrPromise] = {
    ("resource.v1", "served"): _("The API server serves %(versions)s."),
    ("resource.v1", "others"): _("The API server serves %(versions)s only."),
    ("resource.v1", "none"): _("The API server has no group resource.k8s.io."),
    ("resource.v1", "unread"): _("The API server could not be asked."),
    ("server.version", "is"): _VERSION,
    ("server.version", "flagged"): _(
        "The API server runs %(version)s, a release of 1.34 that the driver excludes."
    ),
    ("server.version", "unread"): _NO_VERSION,
    ("mapping.on", "kept"): _("A dry run kept a class’s extendedResourceName."),
    ("mapping.on", "dropped"): _("A dry run dropped a class’s extendedResourceName."),
    ("mapping.on", "inferred"): _INFERRED,
    ("mapping.on", "unread"): _NO_VERSION,
    ("mapping.stable", "is"): _VERSION,
    ("mapping.stable", "unread"): _NO_VERSION,
    ("partitions.on", "kept"): _("A dry run kept a slice’s sharedCounters."),
    ("partitions.on", "dropped"): _("A dry run dropped a slice’s sharedCounters."),
    ("partitions.on", "inferred"): _INFERRED,
    ("partitions.on", "unread"): _NO_VERSION,
    ("shares.on", "kept"): _("A dry run kept the capacity that a claim asks for."),
    ("shares.on", "dropped"): _(
        "A dry run dropped the capacity that a claim asks for."
    ),
    ("shares.on", "inferred"): _INFERRED,
    ("shares.on", "unread"): _NO_VERSION,
    ("driver.ready", "is"): _("%(names)s: %(ready)d of %(desired)d pods are ready."),
    ("driver.ready", "none"): _("No DaemonSet runs an image of NVIDIA’s DRA driver."),
    ("driver.ready", "unread"): _DAEMON_SETS,
    ("driver.version", "is"): _TAGS,
    ("driver.version", "untagged"): _TAGS,
    ("driver.version", "none"): _("No DaemonSet runs an image of NVIDIA’s DRA driver."),
    ("driver.version", "unread"): _DAEMON_SETS,
    ("operator.cdi", "is"): _OPERATOR,
    ("operator.cdi", "untold"): _OPERATOR_UNTOLD,
    ("operator.cdi", "none"): _OPERATOR_NONE,
    ("operator.cdi", "unread"): _OPERATORS,
    ("operator.gpu_cluster", "is"): _OPERATOR,
    ("operator.gpu_cluster", "untold"): _OPERATOR_UNTOLD,
    ("operator.gpu_cluster", "none"): _OPERATOR_NONE,
    ("operator.gpu_cluster", "unread"): _OPERATORS,
    ("operator.one", "both"): _("There are both a ClusterPolicy and a GPUCluster."),
    ("operator.one", "one"): _("There is %(names)s alone."),
    ("operator.one", "none"): _OPERATOR_NONE,
    ("operator.one", "unread"): _OPERATORS,
    ("plugin.limited", "none"): _("No DaemonSet runs NVIDIA’s device plugin."),
    ("plugin.limited", "limited"): _(
        "%(names)s selects no node that publishes slices."
    ),
    ("plugin.limited", "both"): _("%(names)s selects nodes that publish slices."),
    ("plugin.limited", "unread"): _(
        "DaemonSets, nodes or slices of this cluster are not read."
    ),
    ("mig.strategy", "is"): _("The ClusterPolicy’s strategy is %(strategy)s."),
    ("mig.strategy", "untold"): _("No ClusterPolicy names a MIG strategy."),
    ("mig.strategy", "unread"): _("ClusterPolicy is not served, or may not be read."),
    ("node.runtime", "is"): _("The node runs %(runtime)s."),
    ("node.runtime", "other"): _("The node runs %(runtime)s, which is not known here."),
    ("node.runtime", "unread"): _("The node does not tell its runtime."),
    ("node.cdi", "runs"): _("A pod with devices of a claim runs there."),
    ("node.cdi", "off"): _("ClusterPolicy %(policy)s switches CDI off."),
    ("node.cdi", "unread"): _("The API does not show the runtime’s enable_cdi."),
    ("node.gpu_driver", "is"): _("Devices or labels say %(versions)s."),
    ("node.gpu_driver", "unread"): _(
        "Neither devices nor labels tell the driver’s version."
    ),
    ("node.registered", "pools"): _("Pools of %(drivers)s are published."),
    ("node.registered", "none"): _("No pool of gpu.nvidia.com is published."),
    ("node.registered", "unread"): _SLICES,
    ("node.one_driver", "both"): _(
        "Slices publish its GPUs, and a device plugin offers %(count)d more."
    ),
    ("node.one_driver", "slices"): _("Slices alone publish its GPUs."),
    ("node.one_driver", "plugin"): _("A device plugin alone offers %(count)d."),
    ("node.one_driver", "neither"): _("Nobody offers its GPUs yet."),
    ("node.one_driver", "unread"): _SLICES,
    ("node.mig", "same"): _("Published as layout %(config)s says."),
    ("node.mig", "differs"): _(
        "Layout %(config)s differs (published/told): %(lines)s."
    ),
    ("node.mig", "missing"): _("The ConfigMap has no layout %(config)s."),
    ("node.mig", "on_demand"): _(
        "The label asks for %(config)s, yet slices offer partitions made on demand."
    ),
    ("node.mig", "filtered"): _(
        "Layout %(config)s chooses cards by model, or the node does not tell how many"
        " it has."
    ),
    ("node.mig", "unread"): _(
        "Layout %(config)s or the node’s slices may not be read."
    ),
}
ADVICE: dict[str, _StrPromise] = {
    "resource.v1": _(
        "Upgrade to Kubernetes 1.34.2 or later, or ask with: kubectl get --raw"
        " /apis/resource.k8s.io"
    ),
    "server.version": _("Upgrade the control plane to 1.34.2 or later."),
    "mapping.on": _(
        "Upgrade to 1.36, or switch on the gate DRAExtendedResource of API server,"
        " scheduler and kubelet."
    ),
    "mapping.stable": _("Upgrade to 1.37 before production depends on the mapping."),
    "partitions.on": _(
        "Only partitions made on demand need it: upgrade to 1.36, or switch on the gate"
        " DRAPartitionableDevices of API server and scheduler."
    ),
    "shares.on": _(
        "Only shares by memory need it: upgrade to 1.36, or switch on the gate"
        " DRAConsumableCapacity of API server, scheduler and kubelet."
    ),
    "driver.ready": _(
        "Install the driver’s chart, then look at: kubectl get daemonsets -A"
    ),
    "driver.version": _("Upgrade the driver’s chart to v0.5.0 or later."),
    "operator.cdi": _("Upgrade the GPU operator to 25.10.0 or later."),
    "operator.gpu_cluster": _(
        "Needed for the last phase alone: upgrade the GPU operator to 26.7.1 or later."
    ),
    "operator.one": _(
        "Keep one of both: kubectl get clusterpolicies,gpuclusters.nvidia.com"
    ),
    "plugin.limited": _(
        "Give the device plugin a nodeSelector that leaves out nodes of the DRA driver."
    ),
    "mig.strategy": _(
        "Set the ClusterPolicy’s mig.strategy to mixed: with single, nvidia.com/gpu may"
        " be a partition."
    ),
    "node.runtime": _("Upgrade to containerd 1.7.18 or 2.0, or to CRI-O."),
    "node.cdi": _(
        "On the node: containerd config dump | grep enable_cdi (CRI-O: crio config |"
        " grep cdi_spec_dirs)"
    ),
    "node.gpu_driver": _("Upgrade the node’s GPU driver to 580 or later."),
    "node.registered": _(
        "Let the DRA driver’s DaemonSet run there, and read its pod’s log."
    ),
    "node.one_driver": _("Take the node out of the device plugin’s nodeSelector."),
    "node.mig": _(
        "Correct the label nvidia.com/mig.config or the ConfigMap; with partitions made"
        " on demand, remove the label."
    ),
}


def title_of(verdict: Verdict) -> str:
    """Return what is asked, as a statement that may be true."""
    return str(TITLES[verdict.code])


def evidence_of(verdict: Verdict) -> str:
    """Return what the answer is known from, in one sentence."""
    return EVIDENCE[verdict.code, verdict.why] % verdict.values


def advice_of(verdict: Verdict) -> str:
    """Return what to do, "" where all is well."""
    return "" if verdict.answer is Answer.YES else str(ADVICE[verdict.code])
