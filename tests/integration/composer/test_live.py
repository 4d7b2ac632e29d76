"""Live CEL and the preview, over the real engine."""

from __future__ import annotations

import pytest

FIELD = "requests-0-alternatives-0-selectors-0"
SHARES = "hopper-shares"


def judged(composer, expression, **changes):
    composer.open()
    fields = {FIELD: expression, "judge": FIELD, **changes}
    return composer.press("", path="cel/", **fields)


def test_an_expression_that_compiles_is_counted(composer, text):
    words = text(judged(composer, 'device.attributes["gpu.nvidia.com"].type == "gpu"'))
    assert words.startswith("✓ compiles · cost")
    assert "of 1,000,000" in words
    assert "matches 16 of 16 devices on 6 of 6 nodes" in words


def test_an_error_has_its_line_column_and_caret(composer, text):
    response = judged(composer, 'device.driver == "a" &&\n  device.driver.foo("é")')
    assert "Line 2, column 20" in text(response)
    page = response.content.decode()
    assert "  device.driver.foo(&quot;é&quot;)\n                   ^" in page
    assert 'data-line="2" data-column="20"' in page


def test_a_missing_key_is_neither_match_nor_none(composer, text):
    words = text(judged(composer, 'device.attributes["gpu.nvidia.com"].profile == "x"'))
    assert "cannot be evaluated: no such key" in words


def test_the_limit_is_counted_in_bytes(composer, text):
    words = text(judged(composer, '"' + "é" * 5120 + '" == ""'))
    assert "bytes long; Kubernetes takes at most 10,240" in words


def test_a_costly_expression_says_so(composer, text):
    costly = (
        "".join(f"[1,2,3,4,5,6,7,8,9].all(a{n}, " for n in range(7)) + "true" + ")" * 7
    )
    assert "too complex" in text(judged(composer, costly))


def test_a_blank_field_says_nothing(composer, text):
    assert text(judged(composer, "  ")) == ""


def test_without_a_class_it_is_checked_but_not_counted(composer, text):
    words = text(judged(composer, "true", **{"requests-0-alternatives-0-class": ""}))
    assert "compiles" in words
    assert "Choose a class" in words


def test_a_field_that_is_not_there_is_a_bad_request(composer):
    composer.open()
    assert composer.press("", path="cel/", judge="nothing").status_code == 400


def test_without_an_engine_it_is_unknown_and_the_page_stands(
    composer, text, monkeypatch
):
    from inventory.gateways.engine_process import EngineUnavailable
    from inventory.services import engines

    def fail(*_args, **_kwargs):
        raise EngineUnavailable("The engine does not answer; try again.")

    monkeypatch.setattr(engines.EngineProcess, "ensure", fail)
    monkeypatch.setattr(engines, "_process", lambda cluster: _nowhere())
    response = composer.open(SHARES)
    assert response.status_code == 200
    assert "The engine does not answer" in text(response)
    assert "matches 0" not in text(response)
    preview = composer.press("", path="preview/", headers={"HX-Request": "true"})
    assert "No preview. The engine does not answer" in text(preview)


def _nowhere():
    from pathlib import Path

    from inventory.services.engines import EngineProcess

    return EngineProcess("1.37", Path("/nonexistent/run"))


def test_the_preview_says_which_alternative_each_node_takes(composer, text):
    composer.open(SHARES)
    response = composer.press("", path="preview/", headers={"HX-Request": "true"})
    words = text(response)
    assert "Fits on 3 of 6 nodes" in words
    assert "1 hopper-shares" in words
    assert "2 mig-fallback" in words
    assert "memory 16Gi" in words
    assert "1.37’s own allocator" in words
    assert "CPU, memory and affinity of the pod are not considered" in words


def test_without_script_the_preview_stands_in_the_page(composer, text):
    composer.open(SHARES)
    before = dict(composer.fields)
    response = composer.press("", path="preview/")
    assert b"<!doctype html>" in response.content
    assert "Fits on 3 of 6 nodes" in text(response)
    assert composer.fields == before


def test_an_error_for_the_pod_is_said_once(composer, text):
    composer.open()
    selector = 'device.attributes["gpu.nvidia.com"].nonsense == "x"'
    response = composer.press("", path="preview/", name="a", **{FIELD: selector})
    words = text(response)
    assert words.count("The pod would be scheduled nowhere") == 1


def test_an_unfinished_form_has_no_preview_but_its_reasons(composer, text):
    composer.open()
    response = composer.press(
        "", path="preview/", headers={"HX-Request": "true"}, name=""
    )
    assert "No preview yet." in text(response)
    assert "Give the claim a name" in text(response)


@pytest.mark.parametrize(
    ("spec", "status", "mark"),
    [
        ({"unschedulable": True}, {}, "cordoned"),
        ({}, {"conditions": [{"type": "Ready", "status": "Unknown"}]}, "not ready"),
        (
            {"taints": [{"key": "team", "effect": "NoSchedule"}]},
            {},
            "tainted team:NoSchedule",
        ),
    ],
)
def test_nodes_are_marked(client, ada, load_fleets, text, spec, status, mark):
    from tests.integration.composer.conftest import Composer

    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-h100-share-a", "labels": {}},
        "spec": spec,
        "status": status,
    }
    cluster = load_fleets("nvidia-h100-consumable-shares", extra=[node])
    client.force_login(ada)
    composer = Composer(client, cluster)
    composer.open(SHARES)
    words = text(composer.press("", path="preview/", headers={"HX-Request": "true"}))
    assert mark in words
