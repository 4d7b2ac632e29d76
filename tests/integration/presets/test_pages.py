"""The catalogue of presets: what is offered, what is enforced, and who keeps it."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from claims.models import ClaimRequest, Preset
from claims.services.preset_editing import Change, content_of, make_preset
from claims.services.preset_words import SHIPPED
from claims.services.presets import room_for
from portal.accounts.models import Tenant
from tests.integration.claims.conftest import (
    OBSERVED,
    admin,  # noqa: F401
    cluster,  # noqa: F401
    kubeconfigs,  # noqa: F401
    observe_now,
)
from tests.integration.claims.objects import manifest_of as template_of
from tests.integration.composer.conftest import (
    composer,  # noqa: F401
    fields_of,
    text,  # noqa: F401
)

COUNT = "requests-0-alternatives-0-count"
CLASS = "requests-0-alternatives-0-class"


@pytest.fixture
def presets(db):
    call_command("load_presets")
    return {row.name: row for row in Preset.objects.select_related("active")}


@pytest.fixture
def short(composer, fleet_cluster, presets):  # noqa: F811
    composer.url = reverse(
        "claims:preset-compose", args=[fleet_cluster.name, "whole-h100"]
    )
    composer.open()
    return composer


def test_loading_twice_changes_nothing(presets):
    call_command("load_presets")
    assert Preset.objects.count() == len(presets) == 12
    assert all(row.versions.count() == 1 for row in presets.values())


def test_the_list_says_what_is_free(client, ada, fleet_cluster, presets, text):  # noqa: F811
    client.force_login(ada)
    url = reverse("claims:preset-list", args=[fleet_cluster.name])
    plain, asked = text(client.get(url)), text(client.get(url + "?free"))
    assert "Whole H100" in plain
    assert "not asked yet" in plain
    assert "not asked yet" not in asked
    assert " free on " in asked


def test_room_counts_copies(fleet_cluster, presets):
    room = room_for(fleet_cluster, presets["whole-h100"].active)
    assert room.problem == ""
    assert room.copies >= room.nodes > 0
    none = room_for(fleet_cluster, presets["nvlink-pair"].active)
    assert (none.nodes, none.copies) == (0, 0)
    # A pool that is being updated stops every pod that asks for all devices.
    stopped = room_for(fleet_cluster, presets["monitoring"].active)
    assert "currently being updated" in stopped.why


def test_only_open_fields_are_shown(short):
    page = short.press("check", name="mine").content.decode()
    assert f'<input class="in" id="f-{COUNT}"' in page
    assert f'<input type="hidden" name="{CLASS}" value="gpu.nvidia.com"' in page


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (CLASS, "mig.nvidia.com", "The preset sets this"),
        (COUNT, "9", "allows at most 8"),
        (COUNT, "0", "asks for at least 1"),
        ("requests-0-alternatives-0-admin", "true", "The preset sets this"),
    ],
)
def test_the_server_holds_locks_and_bounds(short, text, field, value, said):  # noqa: F811
    response = short.press("submit", name="kept-name", **{field: value})
    assert response.status_code == 422
    assert said in text(response)
    assert short.fields["name"] == ["kept-name"]


def test_what_is_wrong_stands_beside_its_field(short):
    for name, value in (("name", "Not A Name"), (COUNT, "9")):
        page = short.press("submit", **{name: value}).content.decode()
        field = page[page.index(f'id="f-{name}"') :]
        assert f'f-{name}-error"' in field[: field.index(">")]
        assert f'<ul class="errorlist" id="f-{name}-error"><li>' in page


@pytest.mark.usefixtures("ben", "dora")  # who may decide
def test_monitoring_leads_to_an_approval(
    client,
    ada,
    presets,
    cluster,  # noqa: F811
    admin,  # noqa: F811
    text,  # noqa: F811
):
    observe_now(cluster, admin, (*OBSERVED, "Namespace"))
    tenant = ada.tenants.get()
    tenant.namespaces.create(cluster=cluster.name, namespace="gpu-monitoring")
    client.force_login(ada)
    manifest = template_of(adminAccess=True, allocationMode="All")
    del manifest["metadata"]["namespace"]
    content = content_of(
        {
            "title": "Monitoring",
            "description": "x",
            "category": "x",
            "manifest": manifest,
            "fields": {},
            "tenants": None,
        }
    )
    make_preset("watching", content, Change("dora", timezone.now()))
    address = reverse("claims:preset-compose", args=[cluster.name, "watching"])
    fields = fields_of(client.get(address).content.decode())
    fields["namespace"] = ["gpu-monitoring"]

    refused = client.post(address, {**fields, "action": "submit"})
    assert refused.status_code == 422
    assert 'id="f-justification-error"' in refused.content.decode()
    fields["justification"] = ["to see what is in use"]
    sent = client.post(address, {**fields, "action": "submit"})

    assert sent.status_code == 302, text(sent)
    assert ClaimRequest.objects.get().state == "PendingApproval"
    assert presets["monitoring"].active.manifest["spec"]["spec"]["devices"] == {
        "requests": [
            {
                "name": "gpus",
                "exactly": {
                    "deviceClassName": "gpu.nvidia.com",
                    "allocationMode": "All",
                    "adminAccess": True,
                },
            }
        ]
    }


def test_the_whole_form_takes_over_what_was_typed(short, fleet_cluster):
    short.fields["name"] = ["mine"]
    short.fields.pop("preset_version")
    short.url = reverse("claims:compose", args=[fleet_cluster.name])
    response = short.press("check")
    assert b'name="requests-0-alternatives-0-selectors-0"' in response.content
    assert short.fields["name"] == ["mine"]


def test_a_page_of_an_older_version_is_not_sent(short, text):  # noqa: F811
    short.fields["preset_version"] = ["7"]
    response = short.press("submit", name="mine")
    assert response.status_code == 409
    assert "changed meanwhile" in text(response)
    shown = fields_of(response.content.decode())
    assert shown["preset_version"] == ["1"]
    assert shown["name"] == ["mine"]


def test_a_preset_of_another_tenant_is_not_there(client, ada, fleet_cluster, presets):
    row = presets["notebook"]
    Preset.objects.filter(pk=row.pk).update(for_all=False)
    row.tenants.add(Tenant.objects.create(name="other", group="slicewise:other"))
    client.force_login(ada)
    for name in ("preset-compose", "preset-room"):
        url = reverse(f"claims:{name}", args=[fleet_cluster.name, "notebook"])
        assert client.get(url).status_code == 404
    row.tenants.add(ada.tenants.get())
    assert client.get(url).status_code == 200


def edit(client, name, action, **changes):
    url = reverse("claims:preset-edit", args=[name])
    fields = {"version": 1, "for_all": "all", **changes, "action": action}
    return client.post(url, fields)


def typed(row, **changes):
    manifest = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\n"
        "spec:\n  devices:\n    requests:\n    - name: gpus\n      exactly:\n"
        "        deviceClassName: gpu.nvidia.com\n        count: 2\n"
    )
    return {
        "title": "T",
        "category": "C",
        "description": "D",
        "manifest": manifest,
        **changes,
    }


def test_a_change_is_a_version_and_an_older_one_comes_back(client, dora, presets):
    client.force_login(dora)
    rules = {f"rule:{COUNT}": "open", f"min:{COUNT}": "1", f"max:{COUNT}": "3"}
    assert edit(client, "notebook", "save", **typed(None, **rules)).status_code == 302
    row = Preset.objects.get(name="notebook")
    assert (row.active.number, row.version) == (2, 2)
    assert row.active.fields == {COUNT: {"min": "1", "max": "3"}}
    assert edit(client, "notebook", "offer:1").status_code == 409
    assert edit(client, "notebook", "offer:1", version=2).status_code == 302
    row.refresh_from_db()
    assert row.active.number == 1
    assert edit(client, "notebook", "offer:", version=3).status_code == 302
    row.refresh_from_db()
    assert row.active is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": " "}, "people choose by it"),
        ({"manifest": "a: ["}, "is no YAML"),
        ({"manifest": "kind: Pod\napiVersion: v1\n"}, "Pod"),
        ({f"rule:{COUNT}": "open", f"max:{COUNT}": "1"}, "outside its own bounds"),
        ({"for_all": "some", "tenants": ["nobody"]}, "no tenant named"),
    ],
)
def test_a_preset_that_cannot_be_loses_nothing(
    client,
    dora,
    presets,
    text,  # noqa: F811
    changes,
    said,
):
    client.force_login(dora)
    response = edit(
        client, "notebook", "save", **typed(None, description="kept words", **changes)
    )
    assert response.status_code == 422
    assert said in text(response)
    assert b"kept words" in response.content
    assert Preset.objects.get(name="notebook").active.number == 1


def test_a_new_preset_is_offered(client, dora, fleet_cluster, presets):
    client.force_login(dora)
    fields = {"name": "two", "for_all": "all", "action": "save", **typed(None)}
    assert client.post(reverse("claims:preset-new"), fields).status_code == 302
    url = reverse("claims:preset-compose", args=[fleet_cluster.name, "two"])
    assert client.get(url).status_code == 200
    assert client.post(reverse("claims:preset-new"), fields).status_code == 422


def test_what_is_short_is_said_and_shipped_texts_are_translated(
    client,
    ada,
    fleet_cluster,
    presets,
    text,  # noqa: F811
):
    client.force_login(ada)
    room = reverse("claims:preset-room", args=[fleet_cluster.name, "nvlink-pair"])
    assert "none free now" in text(client.get(room))
    assert room_for(fleet_cluster, presets["nvlink-pair"].active).why

    page = reverse("claims:preset-list", args=[fleet_cluster.name])
    korean = text(client.get(page, headers={"Accept-Language": "ko"}))
    assert presets["notebook"].active.title not in korean
    assert "노트북" in korean


def test_the_shipped_texts_are_those_of_the_files(presets):
    texts = {
        text
        for row in presets.values()
        for text in (row.active.title, row.active.description, row.active.category)  # noqa: F811
    }
    assert texts == set(SHIPPED)


def test_a_request_remembers_its_preset(client, ada, presets, cluster, text):  # noqa: F811
    client.force_login(ada)
    manifest = template_of()
    del manifest["metadata"]["namespace"]
    body = {
        "title": "One example",
        "description": "x",
        "category": "x",
        "manifest": manifest,
        "fields": {},
        "tenants": None,
    }
    made = make_preset("example", content_of(body), Change("dora", timezone.now()))
    address = reverse("claims:preset-compose", args=[cluster.name, "example"])
    fields = fields_of(client.get(address).content.decode())
    fields["namespace"] = ["ai-serving"]

    sent = client.post(address, {**fields, "action": "submit"})

    assert sent.status_code == 302, text(sent)
    row = ClaimRequest.objects.get()
    assert row.preset_version == made.active
    assert "From the preset example, version 1" in text(client.get(sent.url))
