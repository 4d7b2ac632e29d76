"""A real control plane with the demo's fleet, tenants and pods, for the demo.

    python -m tests.cluster.demo --state DIR [--version 1.37.2]

It writes DIR/portal.kubeconfig, of the portal's service account, once everything
is in the cluster. There is no kubelet: pods are bound and stay Pending, claims go as
far as allocated and reserved; pods that are deleted go at once. What the cluster does
not serve (ComputeDomain and ClusterPolicy, whose CRDs belong to NVIDIA) is left out and
named.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.cluster import build
from tests.cluster.client import PATHS, Refused
from tests.cluster.controlplane import ControlPlane, NotReady
from tests.cluster.kubelet import ending_pods

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "deploy/rbac.yaml", *sorted(ROOT.glob("simcluster/fleets/*.yaml"))]
ACCOUNT = "system:serviceaccount:slicewise:slicewise"
GROUPS = ("system:serviceaccounts", "system:authenticated")
# Kinds whose definitions belong to others, so that this cluster does not serve them.
FOREIGN = {"ClusterPolicy"}
# What others refer to comes first.
ORDER = ("Namespace", "ClusterRole", "Node", "DeviceClass", "ResourceSlice")


def main() -> int:
    """Run it until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--version", default="1.37.2")
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    plane = ControlPlane(options.version, users={ACCOUNT: GROUPS}, state=options.state)
    try:
        with plane as cluster, ending_pods(cluster.client()):
            fill(cluster)
            path = options.state / "portal.kubeconfig"
            shutil.copyfile(cluster.kubeconfig(ACCOUNT), path)
            build.say(str(path))
            stop.wait()
    except (build.BuildFailed, NotReady, Refused) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


def fill(cluster: ControlPlane) -> None:
    """Put into the cluster what it lacks of the demo."""
    documents = list(_documents())
    served = PATHS.keys() - FOREIGN
    known = [each for each in documents if each["kind"] in served]
    left_out = {each["kind"] for each in documents} - {each["kind"] for each in known}
    if left_out:
        build.say(f"not served, so left out: {', '.join(sorted(left_out))}")
    rank = {kind: number for number, kind in enumerate(ORDER)}
    for each in sorted(known, key=lambda each: rank.get(each["kind"], len(ORDER))):
        if each["kind"] == "Node":
            metadata = each["metadata"]
            cluster.add_node(metadata["name"], metadata.get("labels"))
        else:
            _create(cluster, each)


def _create(cluster: ControlPlane, body: dict[str, Any]) -> None:
    # Recorded owners do not live here: the garbage collector would take their slices.
    body["metadata"].pop("ownerReferences", None)
    try:
        cluster.admin.create(body)
    except Refused as error:
        if error.reason != "AlreadyExists":
            raise


def _documents() -> Iterator[dict[str, Any]]:
    told: set[str] = set()
    used: set[str] = set()
    for path in FILES:
        for document in filter(None, YAML(typ="safe").load_all(path.read_text())):
            yield document
            used.add(document.get("spec", {}).get("nodeName", ""))
            if document["kind"] == "Node":
                told.add(document["metadata"]["name"])
    for name in sorted(used - {""} - told):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


if __name__ == "__main__":
    raise SystemExit(main())
