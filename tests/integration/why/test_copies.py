"""How many copies fit all together, and why the first that does not, does not."""

from __future__ import annotations

import html
import re

import pytest
from asgiref.sync import async_to_sync
from django.template.loader import render_to_string

from claims.services import previewing
from claims.services.previewing import Reader, ashow

pytestmark = pytest.mark.django_db(transaction=True)


def asking(count, kind="ResourceClaimTemplate", **exactly):
    request = {"deviceClassName": "gpu.nvidia.com", "count": count} | exactly
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "asked", "namespace": "orchid"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def text_of(cluster, manifest, reader):
    shown = async_to_sync(ashow)(cluster, manifest, reader)
    page = render_to_string(
        "claims/compose_preview.html",
        {"preview": {"shown": shown}, "cluster": cluster},
    )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_first_that_fails_says_what_is_left(load_fleets):
    cluster = load_fleets("nvidia-h100-full-8gpu")

    text = text_of(cluster, asking(3), Reader())

    assert "2 copies fit now, all together: a Deployment of 2 would be placed" in text
    assert "Copy 3 is the first that fits nowhere:" in text
    assert (
        "6 are in use (held by orchid/copy 1, orchid/copy 2), 2 left, 3 needed" in text
    )


def test_several_nodes_are_counted_together(load_fleets):
    cluster = load_fleets("nvidia-h100-full-8gpu", "nvidia-t4-l40s")

    shown = async_to_sync(ashow)(cluster, asking(1), Reader())

    counted = sum(row.copies.copies for row in shown.rows if row.copies)
    assert shown.together.copies == counted == 13
    assert not shown.together.at_least
    assert shown.together.reasons


def test_nodes_that_were_not_counted_make_it_at_least(load_fleets, monkeypatch):
    monkeypatch.setattr(previewing, "SHOWN_NODES", 1)
    cluster = load_fleets("nvidia-h100-full-8gpu", "nvidia-t4-l40s")

    text = text_of(cluster, asking(1), Reader())

    assert "At least 8 copies fit now" in text
    assert "is the first that fits nowhere" not in text


def test_shares_of_one_card_are_counted_until_its_memory_is_gone(load_fleets):
    cluster = load_fleets("hami-core-gpu-consumable")
    share = {"capacity": {"requests": {"memory": "30Gi", "cores": "10"}}}
    manifest = asking(1, deviceClassName="hami-core-gpu.project-hami.io", **share)

    shown = async_to_sync(ashow)(cluster, manifest, Reader())

    assert shown.together.copies == 4
    (reason,) = shown.together.reasons
    assert "too little memory left (20Gi)" in reason.text


def test_pods_share_a_claim_so_nothing_is_said_of_copies(load_fleets):
    cluster = load_fleets("nvidia-h100-full-8gpu")

    shown = async_to_sync(ashow)(cluster, asking(3, "ResourceClaim"), Reader())

    assert shown.together is None
