"""What a claim can take at most, of devices of known sizes."""

from __future__ import annotations

from claims.domain.checks.asks import asked_of
from inventory.domain.quantity import GIB
from portal.budgets.domain.amounts import NOTHING, Amounts, Size
from portal.budgets.domain.needs import UNKNOWN, need_of

CARD = Size("n1", Amounts(vram=80 * GIB, cards=1, gpus=1))
SMALL = Size("n1", Amounts(vram=16 * GIB, cards=1, gpus=1))
SLICE = Size("n2", Amounts(vram=10 * GIB, slices=1, gpus=1))
SHARE = Size(
    "n1",
    Amounts(vram=80 * GIB, gpus=1),
    shared=True,
    capacity={
        "memory": {
            "value": "80Gi",
            "requestPolicy": {
                "default": "4Gi",
                "validRange": {"min": "2Gi", "max": "40Gi", "step": "2Gi"},
            },
        }
    },
)


def asked(*requests):
    return asked_of(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "x"},
            "spec": {"devices": {"requests": list(requests)}},
        }
    )


def exactly(name="gpu", **more):
    return {"name": name, "exactly": {"deviceClassName": "gpu.nvidia.com", **more}}


def test_a_request_takes_the_largest_that_matches_as_often_as_it_counts():
    found = need_of(asked(exactly(count=3)), {"gpu": [CARD, SMALL]})

    assert found == Amounts(vram=240 * GIB, cards=3, gpus=3)


def test_requests_add_up_and_alternatives_do_not():
    first = [
        {"name": "big", "deviceClassName": "gpu.nvidia.com"},
        {"name": "slices", "deviceClassName": "mig.nvidia.com", "count": 2},
    ]
    claim = asked(exactly("one"), {"name": "either", "firstAvailable": first})
    sizes = {"one": [SMALL], "either/big": [CARD], "either/slices": [SLICE]}

    found = need_of(claim, sizes)

    assert found == Amounts(vram=96 * GIB, cards=2, slices=2, gpus=3)


def test_all_takes_the_node_where_that_is_most():
    everything = asked(exactly(allocationMode="All"))
    elsewhere = Size("n2", Amounts(vram=80 * GIB, cards=1, gpus=1))
    sizes = {"gpu": [CARD, SMALL, elsewhere]}

    assert need_of(everything, sizes) == Amounts(vram=96 * GIB, cards=2, gpus=2)


def test_a_share_takes_what_the_drivers_policy_rounds_to():
    def share(**more):
        return need_of(asked(exactly(**more)), {"gpu": [SHARE]})

    odd = {"capacity": {"requests": {"memory": "5Gi"}}}
    assert share(**odd) == Amounts(vram=6 * GIB, gpus=1)
    assert share() == Amounts(vram=4 * GIB, gpus=1)


def test_what_matches_nothing_is_unknown_and_never_nothing():
    assert need_of(asked(exactly()), {}) == UNKNOWN
    too_much = {"capacity": {"requests": {"memory": "50Gi"}}}
    found = need_of(asked(exactly(**too_much)), {"gpu": [SHARE]})
    assert found == Amounts(vram=50 * GIB, gpus=1, vram_at_least=True)


def test_administrative_access_takes_nothing_away():
    watch = exactly(adminAccess=True, allocationMode="All")

    assert need_of(asked(watch), {"gpu": [CARD]}) == NOTHING
