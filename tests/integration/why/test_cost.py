"""What a claim costs the scheduler, and selectors that deserve a class."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.urls import reverse

from claims.domain.why.cost import class_for, name_for, repeated
from claims.services.costing import acost
from claims.services.explaining import question_of
from inventory.gateways.engine_process import stop
from inventory.services.engines import engine_for
from tests.integration.why.conftest import request, template

FULL = "nvidia-h100-full-8gpu"
HOPPER = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
LARGE = "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('79Gi'))"


@pytest.fixture
def own_engine(settings):
    """Have an engine of this checkout's, whoever else runs one."""
    with tempfile.TemporaryDirectory(prefix="sw-") as folder:
        settings.SLICEWISE_RUN_DIR = folder
        yield
        stop(Path(folder))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("own_engine")
def test_costs_are_devices_times_units_and_measured(load_fleets):
    cluster = load_fleets(FULL, "nvidia-t4-l40s")
    asked = template(request("gpu", "gpu.nvidia.com", HOPPER, LARGE))

    found = async_to_sync(acost)(question_of(cluster, asked))

    by_place = {(each.owner, each.number): each for each in found.selectors}
    assert set(by_place) == {("gpu.nvidia.com", 1), ("gpu", 1), ("gpu", 2)}
    assert found.devices == by_place["gpu.nvidia.com", 1].devices == 13
    assert by_place["gpu", 1].devices == 13
    assert by_place["gpu", 2].devices == 8
    checked = engine_for(cluster).check([LARGE])[0]
    assert by_place["gpu", 2].cost == checked.cost
    assert by_place["gpu", 2].units == checked.cost * 8
    assert found.units == sum(each.units for each in found.selectors)
    assert all(0 < each.micros < 10_000 for each in found.selectors)


def named(number, *selectors):
    return template(request("gpu", "gpu.nvidia.com", *selectors), name=f"t{number}")


def test_a_selector_in_three_templates_is_repeated_however_it_is_spaced():
    spaced = HOPPER.replace(" == ", "\n  ==  ")
    found = repeated(
        [named(1, HOPPER), named(2, HOPPER, LARGE), named(3, spaced), named(4, LARGE)]
    )

    (only,) = found
    assert only.expression == HOPPER
    assert only.templates == ("team-orchid/t1", "team-orchid/t2", "team-orchid/t3")


def test_twice_in_one_template_counts_once():
    assert repeated([named(1, HOPPER, HOPPER), named(2, HOPPER)]) == []


def test_the_class_that_is_offered_has_the_old_selectors_too():
    (found,) = repeated([named(n, HOPPER) for n in range(3)])
    body = class_for(found, ["true"], name_for(found))

    assert body["metadata"]["name"] == "hopper.gpu.nvidia.com"
    assert [s["cel"]["expression"] for s in body["spec"]["selectors"]] == [
        "true",
        HOPPER,
    ]


@pytest.mark.django_db
def test_only_an_admin_sees_the_list(load_fleets, client, ada, dora):
    cluster = load_fleets(FULL, extra=[named(n, HOPPER) for n in range(3)])
    address = reverse("claims:selector-list", args=[cluster.name])

    classes = reverse("inventory:class-list", args=[cluster.name])

    client.force_login(ada)
    assert client.get(address).status_code == 403
    assert address not in client.get(classes).content.decode()
    client.force_login(dora)
    assert address in client.get(classes).content.decode()
    page = client.get(address).content.decode()
    assert "In 3 templates" in page
    (found,) = client.get("/api/v1/clusters/demo/repeated-selectors").json()["items"]
    assert found["expression"] == HOPPER
    assert found["templates"] == [f"team-orchid/t{n}" for n in range(3)]
    assert found["deviceClass"]["metadata"]["name"] == "hopper.gpu.nvidia.com"
    assert "hopper.gpu.nvidia.com" in page
