"""The rest of what a claim may say, in the form; and what stands around it."""

from __future__ import annotations

import html

import pytest
from django.db.models import F
from django.utils import timezone

from claims.services.yaml_text import load
from inventory.models import Cluster, KubeObject
from tests.integration.composer.conftest import Composer
from tests.integration.composer.test_pages import FIRST, SHARES, manifest_of


def test_config_labels_and_tolerations_reach_the_manifest(composer):
    composer.open(SHARES)
    composer.press("add-config")
    composer.press("add-pair:0")
    composer.press("add-pair:3")
    response = composer.press(
        "check",
        **{
            "config-0-value-strategy": "MPS",
            "config-0-value-threads": "25",
            "config-0-binds": ["0/0"],
            "labels-0-key": "team",
            "labels-0-value": "blue",
            "claim-annotations-0-key": "example.com/note",
            "claim-annotations-0-value": "two\nlines",
        },
    )
    body = manifest_of(response)
    assert body["metadata"]["labels"] == {"team": "blue"}
    assert body["spec"]["metadata"] == {
        "annotations": {"example.com/note": "two\nlines"}
    }
    assert body["spec"]["spec"]["devices"]["config"] == [
        {
            "requests": ["gpus/hopper-shares"],
            "opaque": {
                "driver": "gpu.nvidia.com",
                "parameters": {
                    "apiVersion": "resource.nvidia.com/v1beta1",
                    "kind": "GpuConfig",
                    "sharing": {
                        "strategy": "MPS",
                        "mpsConfig": {"defaultActiveThreadPercentage": 25},
                    },
                },
            },
        }
    ]


@pytest.mark.parametrize(
    ("kind", "driver", "values", "parameters"),
    [
        (
            "GpuConfig",
            "gpu.nvidia.com",
            {"strategy": "TimeSlicing", "interval": "Long"},
            {
                "sharing": {
                    "strategy": "TimeSlicing",
                    "timeSlicingConfig": {"interval": "Long"},
                }
            },
        ),
        (
            "MigDeviceConfig",
            "gpu.nvidia.com",
            {"strategy": "MPS", "memory": "8Gi", "limits": "0=4Gi, 1=2Gi"},
            {
                "sharing": {
                    "strategy": "MPS",
                    "mpsConfig": {
                        "defaultPinnedDeviceMemoryLimit": "8Gi",
                        "defaultPerDevicePinnedMemoryLimit": {"0": "4Gi", "1": "2Gi"},
                    },
                }
            },
        ),
        (
            "VfioDeviceConfig",
            "gpu.nvidia.com",
            {"policy": "LegacyOnly", "device": "true"},
            {"iommu": {"backendPolicy": "LegacyOnly", "enableAPIDevice": True}},
        ),
        (
            "ComputeDomainChannelConfig",
            "compute-domain.nvidia.com",
            {"domain": "0b4f5e4c-0c7a-4d6e-9a57-7d3d1a1b2c3d", "mode": "All"},
            {
                "domainID": "0b4f5e4c-0c7a-4d6e-9a57-7d3d1a1b2c3d",
                "allocationMode": "All",
            },
        ),
    ],
)
def test_each_kind_of_the_drivers_configuration_has_its_fields(
    composer, kind, driver, values, parameters
):
    composer.open(SHARES)
    composer.press("add-config")
    composer.press("check", **{"config-0-form": kind})
    typed = {f"config-0-value-{name}": value for name, value in values.items()}
    assert typed.keys() <= composer.fields.keys()

    body = manifest_of(composer.press("check", **typed))

    [config] = body["spec"]["spec"]["devices"]["config"]
    head = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind}
    assert config["opaque"] == {"driver": driver, "parameters": {**head, **parameters}}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"form": "", "json": "{"}, "Line 1, column 2: this is no JSON"),
        ({"form": "", "json": "[]"}, "Write a JSON object"),
        ({"form": "", "json": "[" * 20_000}, "JSON"),
        ({"form": "", "driver": "Not A Driver"}, "is no driver name"),
        ({"value-threads": "25"}, "sharing strategy MPS"),
        ({"value-strategy": "MPS", "value-threads": "101"}, "is no percentage"),
        ({"value-strategy": "MPS", "value-memory": "1Ki"}, "is no limit"),
        ({"value-strategy": "MPS", "value-limits": "0:8Gi"}, "limit of a device"),
        ({"value-strategy": "Fabric"}, "is not offered here"),
        ({"form": "ComputeDomainChannelConfig"}, "needs a value"),
    ],
)
def test_bad_config_is_said_and_kept(composer, text, fields, sentence):
    composer.open(SHARES)
    composer.press("add-config")
    typed = {f"config-0-{part}": value for part, value in fields.items()}
    response = composer.press("submit", **typed)
    assert response.status_code == 422
    assert sentence in text(response)
    for name in typed.keys() & composer.fields.keys():
        assert composer.fields[name] == [typed[name]]


YAML = """\
# ours
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {namespace: ai-serving, name: kept}
spec:
  devices:
    requests:
    - name: a # the one
      exactly:
        deviceClassName: gpu.nvidia.com
        derivedAttributes: [{name: x, expression: "1"}]
"""


def test_yaml_is_edited_and_stays_what_it_is(composer, text):
    composer.open()
    response = composer.press("take", yaml=YAML)
    assert "derivedAttributes" in text(response)
    response = composer.press("check", **{f"{FIRST}-count": "2"})
    response = composer.press("edit-yaml")
    assert composer.fields["yaml"] == [
        YAML.replace(
            "deviceClassName: gpu.nvidia.com\n",
            "deviceClassName: gpu.nvidia.com\n        count: 2\n",
        )
    ]
    fragment = composer.press("", "manifest/", {"HX-Request": "true"})
    assert "# the one" in html.unescape(fragment.content.decode())


def test_a_base_that_was_tampered_with_is_left_aside(composer):
    composer.open(SHARES)
    for base in ("a: [", "- x", "a: &b 1\nc: *b", "text"):
        response = composer.press("check", base=base)
        assert response.status_code == 200
        assert manifest_of(response)["kind"] == "ResourceClaimTemplate"


def test_what_a_gate_turns_off_is_disabled_and_says_the_version(
    composer, text, fleet_cluster
):
    composer.open(SHARES)
    fleet_cluster.kubernetes_version = "v1.34.4"
    fleet_cluster.save()
    response = composer.press("check", **{f"{FIRST}-capacity-0-value": ""})
    page = response.content.decode()
    assert "Kubernetes has it on from 1.36, by the gate DRAConsumableCapacity" in text(
        response
    )
    field = page[page.index(f'id="f-{FIRST}-capacity-0-value"') :]
    assert " disabled" in field[: field.index(">")]
    button = page[page.index('value="add-toleration:0:0"') :]
    assert " disabled" in button[: button.index(">")]
    # What is asked for already stays to be seen and changed.
    response = composer.press("check", **{f"{FIRST}-capacity-0-value": "1Gi"})
    page = response.content.decode()
    field = page[page.index(f'id="f-{FIRST}-capacity-0-value"') :]
    assert " disabled" not in field[: field.index(">")]


def test_an_attribute_is_derived_where_the_gate_is_on(composer, text, fleet_cluster):
    page = composer.open(SHARES).content.decode()
    button = page[page.index('value="add-derived:0:0"') :]
    said = html.unescape(button[: button.index(">")])
    assert " disabled" in said
    assert "from 1.37, only where the gate DRADerivedAttributes was turned on" in said
    fleet_cluster.feature_gates = {"DRADerivedAttributes": True}
    fleet_cluster.save()

    composer.press("add-derived:0:0")
    bare = composer.press("submit", **{f"{FIRST}-derived-0-name": "example.com/tier"})
    assert bare.status_code == 422
    derived = {f"{FIRST}-derived-0-expression": 'device.driver == "a" ? "x" : "y"'}
    body = manifest_of(composer.press("check", **derived))

    request = body["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"][0]
    (expression,) = derived.values()
    assert request["derivedAttributes"] == [
        {"name": "example.com/tier", "expression": expression}
    ]
    composer.press("remove-derived:0:0:0")
    assert f"{FIRST}-derived-0-name" not in composer.fields


def test_what_devices_wait_for_is_said_where_they_do(client, ada, load_fleets, text):
    selected = [{"cel": {"expression": 'device.driver == "composable.example.com"'}}]
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "fabric"},
        "spec": {"selectors": selected},
    }
    fleets = ("composable-gpu-binding-conditions", "nvidia-t4-l40s")
    cluster = load_fleets(*fleets, extra=[device_class])
    client.force_login(ada)
    composer = Composer(client, cluster)
    composer.open()
    waits = text(composer.press("check", **{f"{FIRST}-class": "fabric"}))
    assert "must be made ready first: FabricAttached." in waits
    plain = text(composer.press("check", **{f"{FIRST}-class": "gpu.nvidia.com"}))
    assert "made ready first" not in plain


def test_a_seen_taint_is_tolerated_by_one_button(composer):
    composer.open(SHARES)
    composer.press("tolerate:0:0:gpu.nvidia.com/xid|79|NoSchedule")
    assert composer.fields[f"{FIRST}-tolerations-0-key"] == ["gpu.nvidia.com/xid"]
    assert composer.fields[f"{FIRST}-tolerations-0-operator"] == ["Equal"]
    for odd in ("tolerate:0:9:a|b|c", "tolerate:x:y:a|b|c", "tolerate:0:0:a"):
        assert composer.press(odd).status_code == 200


def test_a_condition_is_guarded_where_devices_lack_the_key(composer, text):
    composer.open()
    composer.press("remove-selector:0:0:0")
    key = 'device.attributes["gpu.nvidia.com"].profile'
    build = {"build-0-0-key": key, f"{FIRST}-class": "mig.nvidia.com"}
    response = composer.press("builder:0:0", **build)
    assert "2g.20gb" in html.unescape(response.content.decode())
    composer.press("build:0:0", **build, **{"build-0-0-value": "2g.20gb"})
    whole = composer.fields[f"{FIRST}-selectors-0"]
    assert whole == [f'{key} == "2g.20gb"']
    build = {"build-0-0-key": key, f"{FIRST}-class": "gpu.nvidia.com"}
    composer.press("build:0:0", **build, **{"build-0-0-value": "2g.20gb"})
    assert composer.fields[f"{FIRST}-selectors-1"] == [
        f'has({key}) && {key} == "2g.20gb"'
    ]
    memory = 'device.capacity["gpu.nvidia.com"].memory'
    response = composer.press(
        "build:0:0", **{"build-0-0-key": memory, "build-0-0-value": ""}
    )
    assert "is no value that this can be compared with" in text(response)


def test_a_selector_that_matches_nothing_says_what_there_is(composer, text):
    composer.open(SHARES)
    fields = {
        f"{FIRST}-selectors-0": 'device.attributes["gpu.nvidia.com"].architecture == "Hoper"'
    }
    response = composer.press("check", **fields)
    assert "nearest:" in text(response)
    assert "with architecture Hopper" in text(response)


def test_what_is_free_and_what_quota_leaves(composer, fleet_cluster):
    key = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    KubeObject.objects.create(
        cluster=fleet_cluster,
        kind="ResourceQuota",
        namespace="ai-serving",
        name="gpus",
        seen_at=timezone.now(),
        revision=fleet_cluster.revision + 1,
        body={
            "metadata": {"name": "gpus", "namespace": "ai-serving"},
            "spec": {"hard": {key: "4", "pods": "9"}},
            "status": {"used": {key: "1"}},
        },
    )
    Cluster.objects.filter(pk=fleet_cluster.pk).update(revision=F("revision") + 1)
    response = composer.client.get(
        composer.url + "availability/", {"namespace": "ai-serving"}
    )
    words = response.content.decode()
    assert "gpu.nvidia.com" in words
    assert " free" in words
    assert "3 of 4 left" in words
    other = {"namespace": "kube-system"}
    response = composer.client.get(composer.url + "availability/", other)
    assert " left" not in response.content.decode()


def test_the_round_trip_of_the_page_is_the_text_it_took(composer):
    composer.open()
    composer.press("take", yaml=YAML)
    assert load(composer.fields["base"][0]).body == load(YAML).body
    assert composer.fields["base"] == [YAML]
