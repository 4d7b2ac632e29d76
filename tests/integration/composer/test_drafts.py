"""Drafts, copies and new versions; templates of others, where the cluster lets read them."""

from __future__ import annotations

import datetime as dt
import uuid
from contextlib import contextmanager

import pytest
from django.core.cache import cache
from django.urls import reverse

from claims.models import ClaimRequest, ComposeDraft
from claims.services.drafting import KEPT_FOR, forget_old
from claims.services.readable import readable_by
from inventory.gateways.transport import Call, call
from tests.integration.claims.conftest import (  # noqa: F401
    active,
    admin,
    cluster,
    kubeconfigs,
    observe,
    submitted,
    template,
)
from tests.integration.composer.conftest import Composer

FIRST = "requests-0-alternatives-0"
DRAFTS = reverse("claims:draft-list")


def test_a_form_is_kept_while_one_types_and_gone_on_with(composer, client, cleo, text):
    composer.open()
    composer.fields["name"] = ["half-done"]
    composer.fields[f"{FIRST}-selectors-0"] = ["device.driver == 'x' &&"]
    address = reverse("claims:compose-keep", args=["demo"])

    kept = client.post(address, composer.fields)
    again = client.post(address, composer.fields)

    assert "Draft kept at" in kept.content.decode()
    assert again.status_code == 200
    row = ComposeDraft.objects.get()
    assert "half-done" in text(client.get(DRAFTS))
    page = client.get(composer.url, {"draft": str(row.public_id)}).content.decode()
    assert 'value="half-done"' in page
    assert "device.driver == &#x27;x&#x27; &amp;&amp;" in page
    assert f'name="draft" value="{row.public_id}"' in page

    client.force_login(cleo)
    assert "half-done" not in client.get(DRAFTS).content.decode()
    stolen = client.get(composer.url, {"draft": str(row.public_id)})
    assert stolen.status_code == 404
    # Another's id is no way to change, or to take away, what is theirs.
    client.post(address, {**composer.fields, "name": "mine"})
    client.post(reverse("claims:draft-discard", args=[row.public_id]))
    row.refresh_from_db()
    assert row.fields["name"] == ["half-done"]


def test_without_script_a_button_keeps_it_and_discarding_asks_first(
    composer, client, text
):
    composer.open()
    said = composer.press("keep", name="later")
    assert said.status_code == 200
    assert "Kept as a draft" in text(said)
    (row,) = ComposeDraft.objects.all()
    discard = reverse("claims:draft-discard", args=[row.public_id])

    assert "Discard this draft?" in text(client.get(discard))
    assert ComposeDraft.objects.count() == 1
    assert client.post(discard).url == DRAFTS
    assert ComposeDraft.objects.count() == 0


def test_a_draft_ends_a_month_after_its_last_change(composer):
    composer.open()
    composer.press("keep", name="old")
    changed = ComposeDraft.objects.get().changed_at
    assert forget_old(now=changed + KEPT_FOR - dt.timedelta(seconds=1)) == 0
    assert forget_old(now=changed + KEPT_FOR + dt.timedelta(seconds=1)) == 1


@pytest.fixture
def live(client, ada, cluster):  # noqa: F811
    client.force_login(ada)
    return Composer(client, cluster)


def test_a_new_version_shows_what_changes_and_who_uses_the_old(
    live,
    active,  # noqa: F811
    template,  # noqa: F811
    client,
    text,
):
    old = active(template())
    page = client.get(reverse("claims:request-detail", args=[old.public_id]))
    assert f"from=revision:request:{old.public_id}" in page.content.decode()
    origin = f"revision:request:{old.public_id}"

    live._kept(client.get(live.url, {"from": origin}))
    assert live.fields["name"] == [f"{old.plan.name}-v2"]
    said = text(live.press("check", **{f"{FIRST}-count": "2"}))
    assert "A new version of" in said
    assert "No pod uses the old one now." in said
    assert "+ count: 2" in said

    live.press("keep")
    sent = live.press("submit")
    assert sent.status_code == 302
    new = ClaimRequest.objects.exclude(pk=old.pk).get()
    assert new.revises == old
    assert not ComposeDraft.objects.exists()  # it was submitted
    assert "Newer version:" in text(
        client.get(reverse("claims:request-detail", args=[old.public_id]))
    )
    said = text(client.get(reverse("claims:request-detail", args=[new.public_id])))
    assert "A new version of" in said
    assert f"What changes against {old.plan.name}" in said
    assert "+ count: 2" in said


def test_a_copy_is_no_new_version(live, active, template, client):  # noqa: F811
    manifest = template()
    manifest["metadata"]["finalizers"] = ["example.com/keep"]
    old = active(manifest)
    live._kept(client.get(live.url, {"from": f"copy:request:{old.public_id}"}))
    assert live.fields["name"] == [f"{old.plan.name}-copy"]
    assert live.press("submit").status_code == 302
    new = ClaimRequest.objects.exclude(pk=old.pk).get()
    assert new.revises is None
    # What the form does not show was asked for as well.
    assert new.plan.manifest["metadata"]["finalizers"] == ["example.com/keep"]


def test_others_templates_are_read_where_the_cluster_says_so(
    live,
    active,  # noqa: F811
    template,  # noqa: F811
    admin,  # noqa: F811
    client,
    cleo,
    cluster,  # noqa: F811
    text,
):
    row = active(template())
    address = reverse(
        "claims:template-detail", args=[cluster.name, "ai-serving", row.plan.name]
    )
    own = text(client.get(reverse("claims:template-list", args=[cluster.name])))
    assert row.plan.name in own

    client.force_login(cleo)
    cache.clear()
    assert readable_by(cleo, cluster).others == ()
    assert client.get(address).status_code == 404

    name = f"reads-{uuid.uuid4().hex[:8]}"
    rights = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": name, "namespace": "ai-serving"},
            "rules": [
                {
                    "apiGroups": ["resource.k8s.io"],
                    "resources": ["resourceclaimtemplates"],
                    "verbs": ["list"],
                }
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": "ai-serving"},
            "subjects": [{"kind": "User", "name": cleo.username}],
            "roleRef": {
                "kind": "Role",
                "name": name,
                "apiGroup": "rbac.authorization.k8s.io",
            },
        },
    ]
    with granted(admin.connection, rights):
        cache.clear()
        assert readable_by(cleo, cluster).others == ("ai-serving",)
        shown = text(client.get(address))
        assert "deviceClassName: gpu.example.com" in shown
        assert "New version" not in shown  # it is not theirs to revise
        page = client.get(
            live.url, {"from": f"copy:template:ai-serving/{row.plan.name}"}
        )
        assert page.status_code == 200
    cache.clear()
    assert client.get(address).status_code == 404


@contextmanager
def granted(connection, bodies):
    """Let rights hold inside of the block."""
    for body in bodies:
        call(connection, Call("POST", _path(body), body=body), ())
    yield
    for body in bodies:
        path = f"{_path(body)}/{body['metadata']['name']}"
        call(connection, Call("DELETE", path), ())


def _path(body):
    within = f"namespaces/{body['metadata']['namespace']}"
    return f"/apis/{body['apiVersion']}/{within}/{body['kind'].lower()}s"
