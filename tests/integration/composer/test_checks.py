"""The checks beside the form: what they say, what they repair, whom they name."""

from __future__ import annotations

import html
import re

FIRST = "requests-0-alternatives-0"
SELECTOR = f"{FIRST}-selectors-0"
HTMX = {"HX-Request": "true"}


def checked(composer, **changes):
    composer.open()
    return composer.press("", path="checks/", headers=HTMX, name="a", **changes)


def fix_of(response):
    found = re.search(r'name="action" value="(fix:[^"]+)"', response.content.decode())
    return html.unescape(found[1]) if found else None


def test_a_key_under_another_domain_is_an_error_with_a_repair(composer, text):
    wrong = 'device.attributes["gpu.nvidia.com"].pcieRoot == "pci0000:15"'
    response = checked(composer, **{SELECTOR: wrong})
    assert "cel.key_other_domain" in text(response)
    assert f'href="#f-{SELECTOR}"' in response.content.decode()
    composer.press(fix_of(response), name="a", **{SELECTOR: wrong})
    assert composer.fields[SELECTOR] == [
        wrong.replace("gpu.nvidia.com", "resource.kubernetes.io")
    ]


def test_a_capacity_key_written_otherwise_is_repaired(composer, text):
    asked = {
        f"{FIRST}-capacity-9-key": "gpu.nvidia.com/memory",
        f"{FIRST}-capacity-9-value": "16Gi",
    }
    response = checked(composer, **asked)
    assert "capacity.key_mismatch" in text(response)
    response = composer.press(fix_of(response), name="a", **asked)
    keys = {v[0]: k for k, v in composer.fields.items() if k.endswith("-key") and v[0]}
    assert composer.fields[keys["memory"].replace("-key", "-value")] == ["16Gi"]
    assert "gpu.nvidia.com/memory" not in keys


def test_an_unfinished_form_is_not_checked_yet(composer, text):
    composer.open()
    response = composer.press("", path="checks/", headers=HTMX, name="")
    assert text(response) == "Checked as soon as the form is complete."


def test_errors_stop_a_submit_beside_their_field(composer):
    composer.open()
    wrong = 'device.attributes["gpu.nvidia.com"].nonsense == "x"'
    response = composer.press("submit", name="a", **{SELECTOR: wrong})
    assert response.status_code == 422
    assert f'id="f-{SELECTOR}-error"' in response.content.decode()
    assert composer.fields[SELECTOR] == [wrong]


def test_broken_repairs_change_nothing(composer):
    composer.open("hopper-shares")
    before = dict(composer.fields)
    for action in (
        "fix:",
        "fix:name:x",
        f"fix:{FIRST.replace('0', '9')}-selectors-0:x",
    ):
        assert composer.press(action).status_code == 200
    assert composer.fields == before


def test_other_tenants_are_only_in_use(client, ada, load_fleets, text):
    from tests.integration.composer.conftest import Composer

    held = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "secret-project", "namespace": "maple-lab", "uid": "u-1"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpus",
                        "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 1},
                    }
                ]
            }
        },
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "request": "gpus",
                            "driver": "gpu.nvidia.com",
                            "pool": "gpu-h100-mig",
                            "device": f"gpu-{n}",
                        }
                        for n in range(2)
                    ]
                }
            }
        },
    }
    cluster = load_fleets("nvidia-h100-dynamic-mig-k8s135", extra=[held])
    client.force_login(ada)
    composer = Composer(client, cluster)
    composer.open()
    mig = {f"{FIRST}-class": "mig.nvidia.com"}
    page = composer.press("", path="preview/", name="a", **mig)
    words = text(page)
    assert "secret-project" not in words
    assert "maple-lab" not in words
    assert "in use" in words


def test_a_slip_from_another_language_is_put_right(composer, text):
    wrong = "device.driver = 'gpu.nvidia.com'"
    response = checked(composer, **{SELECTOR: wrong})
    assert "cel.compile" in text(response)
    composer.press(fix_of(response), name="a", **{SELECTOR: wrong})
    assert composer.fields[SELECTOR] == ["device.driver == 'gpu.nvidia.com'"]
    response = composer.press("", path="checks/", headers=HTMX, name="a")
    assert "cel.compile" not in text(response)
