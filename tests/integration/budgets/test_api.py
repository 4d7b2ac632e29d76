"""Budgets and quotas over REST."""

from __future__ import annotations

import pytest

from claims.models import ClaimRequest
from tests.integration.budgets.conftest import GPU_CLASS
from tests.integration.claims.objects import manifest_of

LIMITS = {"vramHard": 512, "cardsSoft": 1}


def test_an_admin_makes_reads_and_changes_one(call, dora, ada):
    caller = call(dora)
    made = caller.post("budgets", {"tenant": "orchid", **LIMITS})
    assert made.status_code == 201, made.content
    address = f"budgets/{made.json()['id']}"

    assert caller.send("PUT", address, {}).status_code == 428
    stale = caller.send("PUT", address, {}, If_Match='"other"')
    assert stale.status_code == 412
    changed = caller.send("PUT", address, {"vramHard": 8}, If_Match=made["ETag"])
    assert changed.status_code == 200, changed.content

    assert changed["ETag"] != made["ETag"]
    [vram, cards, *_rest] = changed.json()["figures"]
    assert (vram["hard"], vram["level"]) == (8, "within")
    assert (cards["soft"], cards["level"]) == (None, "free")
    assert call(ada).get(address).json()["tenant"] == "orchid"


def test_others_neither_see_nor_change_it(call, dora, ada, cleo):
    made = call(dora).post("budgets", {"tenant": "orchid", **LIMITS}).json()

    assert call(cleo).get(f"budgets/{made['id']}").status_code == 404
    assert call(cleo).items("budgets") == []
    assert call(ada).post("budgets", {"tenant": "orchid"}).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"tenant": "nobody"},
        {"tenant": "orchid", "namespace": "ai-serving"},
        {"tenant": "orchid", "cluster": "demo", "namespace": "maple-lab"},
        {"tenant": "orchid", "vramSoft": 3, "vramHard": 2},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call, dora, ada, cleo, body):
    answer = call(dora).post("budgets", body)

    assert answer.status_code == 422
    assert answer.json()["code"] == "budget.invalid"


def test_a_preview_books_nothing_and_says_both_guards(call, ada, budget, gpus):
    budget(vram_hard=100)
    manifest = manifest_of(device_class=GPU_CLASS, count=2)

    answer = call(ada).post("clusters/demo/quota-preview", {"manifest": manifest})

    assert answer.status_code == 200, answer.content
    said = answer.json()
    assert said["passes"] is False
    assert said["need"]["vramGiB"] == 160
    assert said["budgets"][0]["figures"][0]["left"] == 100
    assert said["budgets"][0]["figures"][0]["level"] == "hard"
    assert ClaimRequest.objects.count() == 0


def test_a_preview_in_a_foreign_namespace_tells_nothing(
    call, cleo, ada, budget, gpus, ask
):
    budget(vram_hard=100)
    manifest = manifest_of(device_class=GPU_CLASS, namespace="ai-training")

    answer = call(cleo).post("clusters/demo/quota-preview", {"manifest": manifest})

    assert answer.status_code == 403 or answer.json()["budgets"] == []
