"""Cases as they are asked: a cluster of the case's fleets, its objects laid over it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import yaml

from claims.services.explaining import question_of
from claims.services.filed import file_of
from inventory.gateways.files import read_objects
from tests.conftest import DATA

CASES = {
    str(case["id"]).zfill(2): case
    for case in yaml.safe_load((DATA / "cases" / "index.yaml").read_text())
}


@dataclass
class Asked:
    """A cluster and the items of a case's file."""

    cluster: object
    items: dict
    overlay: list

    def question(self, name):
        return question_of(self.cluster, self.items[name], self.overlay)


@pytest.fixture
def case(load_fleets):
    """Return a function that makes a case's cluster and reads its file."""

    def make(number):
        found = CASES[number]
        fleets = [name.removesuffix(".yaml") for name in found["slices"]]
        version = str(found["kubernetesVersion"])
        cluster = load_fleets(*fleets, name=f"case-{number}", version=version)
        filed = file_of(read_objects(str(DATA / "cases" / found["file"])))
        items = {item["metadata"]["name"]: item for item in filed.items}
        return Asked(cluster, items, filed.overlay)

    return make
