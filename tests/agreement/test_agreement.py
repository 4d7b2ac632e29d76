"""The preview says what the real scheduler then does, claim after claim."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.agreement.conftest import SETTINGS, Setting
from tests.agreement.walk import Asked, Tally, Walk

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

FIRST_SEED = int(os.environ.get("SEED", "20261130"))
CLAIMS, CLAIMS_A_FLEET = (300 if os.environ.get("FULL") else 60), 20


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_agrees_with_the_scheduler(setting: Setting, started, row, capsys):
    plane = started(setting)
    cluster = row(plane, setting)
    tally, began = Tally(), time.monotonic()

    for number in range(CLAIMS // CLAIMS_A_FLEET):
        walk = Walk(plane, cluster, setting.features, FIRST_SEED + number)
        walk.run(CLAIMS_A_FLEET, tally)

    with capsys.disabled():
        took = time.monotonic() - began
        print(f"\n{setting.name}: {tally.line()}, {took:.0f} s")
    assert not tally.differences, "\n\n".join(map(told, tally.differences))


def told(asked: Asked) -> str:
    """Return what is needed to look into a disagreement."""
    claims = [each["spec"]["devices"] for each in asked.claims]
    said = {
        node: f"{answer.outcome} {answer.score} {answer.message}"
        for node, answer in asked.said.nodes.items()
    }
    return (
        f"seed {asked.seed}, step {asked.step}, on {asked.nodes}: {asked.difference}\n"
        f"{json.dumps(claims)}\n{json.dumps(said)}\nrevision {asked.said.revision}"
    )
