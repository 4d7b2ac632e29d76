"""The page of groups: an admin says what each gives."""

from __future__ import annotations

from django.apps import apps

from portal.accounts.models import GroupMapping


def test_an_admin_maps_groups(client, dora, ada):
    client.force_login(dora)
    orchid = ada.tenants.get()

    client.post("/groups/", {"group": "gpu-admins", "gives": "role:admin"})
    client.post("/groups/", {"group": "orchid-team", "gives": f"tenant:{orchid.name}"})
    again = client.post("/groups/", {"group": "gpu-admins", "gives": "role:admin"})
    wrong = client.post("/groups/", {"group": "x", "gives": "role:emperor"})

    assert again.status_code == 422
    assert "gives that already" in again.content.decode()
    assert wrong.status_code == 422
    page = client.get("/groups/").content.decode()
    assert "gpu-admins" in page
    assert "orchid-team" in page
    first = GroupMapping.objects.get(role="admin")
    assert client.post(f"/groups/{first.pk}/remove").status_code == 302
    assert client.post(f"/groups/{first.pk}/remove").status_code == 404
    events = apps.get_model("accounts", "GroupMappingEvent").objects
    actors = events.values_list("pgh_context__metadata__actor", flat=True)
    assert set(actors) == {dora.username}
    labels = set(events.values_list("pgh_label", flat=True))
    assert labels == {"insert", "delete"}
