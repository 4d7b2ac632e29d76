"""The preview agrees with a scheduler that has one of the newest minor's alpha gates on.

Each gate gets a control plane and a short walk of its own. Fleets and claims use none
of the gates' own fields: what is shown is that the gate changes nothing else.
"""

from __future__ import annotations

import os

import pytest

from tests.agreement.conftest import NEWEST, Setting
from tests.agreement.fleets import Features
from tests.agreement.test_agreement import FIRST_SEED, told
from tests.agreement.walk import Tally, Walk
from tests.cluster.controlplane import ControlPlane

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get("FULL"), reason="a long walk: FULL=1"),
]

# Alpha in 1.37, with what each cannot be on without; the last is beta, and off.
GATES = {
    "DRAListTypeAttributes": (),
    "DRAResourcePoolStatus": (),
    "DRANodeAllocatableResources": (),
    "DRADerivedAttributes": (),
    "DRADeviceCompatibilityGroups": (),
    "DRAOptionalNodeOperations": (),
    "DRAPartitionableDevicesType": ("DRAResourcePoolStatus",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
}
# What their controllers and the scheduler wait for before they do anything.
SERVED = {
    "DRAResourcePoolStatus": "resource.k8s.io/v1alpha3",
    "GenericWorkload": "scheduling.k8s.io/v1beta1",
}
CLAIMS = 40


@pytest.mark.parametrize("gate", GATES)
def test_agrees_with_the_gate_on(gate, row, capsys):
    gates = dict.fromkeys((gate, *GATES[gate]), True)
    served = {SERVED[each]: True for each in gates if each in SERVED}
    setting = Setting(gate, NEWEST, Features(37), gates, served)
    with ControlPlane(
        NEWEST, gates=setting.gates, runtime_config=setting.served
    ) as plane:
        walk = Walk(plane, row(plane, setting), setting.features, FIRST_SEED)
        tally = Tally()
        walk.run(CLAIMS, tally)

    with capsys.disabled():
        print(f"\n{gate}: {tally.line()}")
    assert not tally.differences, "\n\n".join(map(told, tally.differences))
