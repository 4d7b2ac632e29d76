"""Fallbacks, made, changed and switched off by admins, on pages and over the API."""

from __future__ import annotations

import json

import pytest

from inventory.models import Cluster
from portal.admission.models import Fallback
from portal.admission.queries.rules import fallbacks_in_force

FORM = {
    "name": "to-mig",
    "cluster": "demo",
    "device_class": "gpu.nvidia.com",
    "alternatives": '[{"name": "mig", "deviceClassName": "mig.nvidia.com"}]',
    "namespaces": "batch-*, night",
    "is_enabled": "on",
}


@pytest.fixture
def demo(db):
    return Cluster.objects.create(name="demo", kind="offline")


@pytest.fixture
def admin_page(client, dora, demo):
    client.force_login(dora)
    return client


@pytest.fixture
def made(admin_page):
    assert admin_page.post("/admission/fallbacks/new", FORM).status_code == 302
    return Fallback.objects.get(name="to-mig")


def seen(row):
    return Fallback.objects.get(pk=row.pk).changed_at.isoformat()


def test_an_admin_makes_changes_and_switches_one_off_on_the_page(
    admin_page, made, demo
):
    assert (made.cluster, made.namespaces) == (demo, ["batch-*", "night"])
    assert (made.needs_advice, made.changed_by) == (False, "dora@platform")
    shown = admin_page.get("/admission/").content.decode()
    assert "to-mig" in shown
    assert "mig.nvidia.com" in shown
    assert (
        "batch-*" in admin_page.get("/admission/fallbacks/to-mig/edit").content.decode()
    )

    changed = {**FORM, "cluster": "", "namespaces": "", "seen": seen(made)}
    path = "/admission/fallbacks/to-mig/edit"
    assert admin_page.post(path, changed).status_code == 302
    made.refresh_from_db()
    assert (made.cluster, made.namespaces) == (None, [])
    [in_force] = fallbacks_in_force(demo)
    assert in_force.covers("anywhere")

    off = {"is_enabled": "false", "seen": seen(made)}
    assert admin_page.post("/admission/fallbacks/to-mig/switch", off).status_code == 302
    assert fallbacks_in_force(demo) == ()
    on = {"is_enabled": "true", "seen": seen(made)}
    admin_page.post("/admission/fallbacks/to-mig/switch", on)
    assert len(fallbacks_in_force(demo)) == 1


def test_who_saw_an_older_one_changes_nothing_and_loses_nothing(admin_page, made):
    before = seen(made)
    path = "/admission/fallbacks/to-mig/edit"
    admin_page.post(path, {**FORM, "seen": before, "namespaces": "mine"})

    late = admin_page.post(path, {**FORM, "seen": before, "namespaces": "theirs"})

    assert late.status_code == 422
    assert "changed meanwhile" in late.content.decode()
    assert "theirs" in late.content.decode()
    for stale in (before, "", "x"):
        off = {"is_enabled": "false", "seen": stale}
        admin_page.post("/admission/fallbacks/to-mig/switch", off)
    made.refresh_from_db()
    assert (made.namespaces, made.is_enabled) == (["mine"], True)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"alternatives": "[{"}, "no JSON"),
        ({"alternatives": "[{}]"}, "needs name"),
        ({"name": "Big One"}, "small letters"),
        ({"device_class": ""}, "Name the class"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(admin_page, more, sentence):
    answer = admin_page.post("/admission/fallbacks/new", {**FORM, **more})

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Fallback.objects.exists()


def test_the_api_changes_what_its_caller_saw(admin_page, made, demo):
    path = "/api/v1/admission/fallbacks/to-mig"

    def patch(body, **headers):
        return admin_page.patch(
            path, json.dumps(body), content_type="application/json", headers=headers
        )

    tag = admin_page.get(path)["ETag"]
    assert patch({"isEnabled": False}).status_code == 428
    off = patch({"isEnabled": False}, **{"If-Match": tag})
    assert off.status_code == 200, off.content
    assert off.json()["isEnabled"] is False
    assert fallbacks_in_force(demo) == ()
    assert patch({"isEnabled": True}, **{"If-Match": tag}).status_code == 412
    tag = off["ETag"]
    assert patch({"alternatives": []}, **{"If-Match": tag}).status_code == 422
    everywhere = patch({"cluster": "", "isEnabled": True}, **{"If-Match": tag})
    assert everywhere.json()["cluster"] is None
