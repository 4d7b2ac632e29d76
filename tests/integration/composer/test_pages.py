"""The composer as a page: what it shows, what its buttons do, what it never loses."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

SHARES = "hopper-shares"
FIRST = "requests-0-alternatives-0"


def manifest_of(response):
    page = response.content.decode()
    if 'id="manifest-text"' not in page:
        return None
    import html

    from claims.services.yaml_text import load

    start = page.index(">", page.index('id="manifest-text"')) + 1
    return load(html.unescape(page[start : page.index("</pre>", start)])).body


@pytest.mark.django_db
def test_a_stranger_is_sent_to_sign_in(client, fleet_cluster):
    assert client.get("/c/demo/compose/").status_code == 302


@pytest.mark.django_db
def test_no_such_cluster_is_not_found(client, ada):
    client.force_login(ada)
    assert client.get("/c/nowhere/compose/").status_code == 404


def test_the_preset_is_judged_and_shown_as_yaml(composer, text):
    response = composer.open(SHARES)
    assert response.status_code == 200
    words = text(response)
    assert "compiles · cost" in words
    assert "matches 8 of 16 devices on 2 of 6 nodes" in words
    body = manifest_of(response)
    assert body["kind"] == "ResourceClaimTemplate"
    assert body["metadata"] == {
        "name": "llm-inference-gpu-slices",
        "namespace": "ai-serving",
    }
    alternatives = body["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"]
    assert [each["name"] for each in alternatives] == ["hopper-shares", "mig-fallback"]
    assert alternatives[0]["capacity"] == {"requests": {"memory": "16Gi"}}


def test_capacity_keys_come_from_the_class(composer, text):
    words = text(composer.open(SHARES))
    assert "memory per device default 81559Mi · 1Mi to 81559Mi · step 1Mi" in words
    response = composer.press(
        "check", **{f"{FIRST}-class": "compute-domain-daemon.nvidia.com"}
    )
    assert "no device of this class publishes this key" in text(response)
    assert composer.fields[f"{FIRST}-capacity-0-value"] == ["16Gi"]


def test_buttons_work_without_script_and_lose_nothing(composer):
    composer.open(SHARES)
    before = dict(composer.fields)
    composer.press("down-alternative:0:0")
    assert composer.fields[f"{FIRST}-name"] == ["mig-fallback"]
    assert composer.fields["constraints-0-binds"] == ["0/1"]
    composer.press("up-alternative:0:1")
    assert composer.fields == before
    composer.press("add-alternative:0")
    assert composer.fields["requests-0-alternatives-2-name"] == ["alternative-3"]
    composer.press("remove-alternative:0:2")
    assert composer.fields == before


def test_bad_input_is_kept_and_said_beside_its_field(composer, text):
    composer.open(SHARES)
    wrong = {
        "name": "nvidia.com/gpu",
        f"{FIRST}-count": "33",
        f"{FIRST}-capacity-0-value": "16 GB",
        f"{FIRST}-selectors-0": "x" * 10_241,
    }
    response = composer.press("submit", **wrong)
    assert response.status_code == 422
    for name, value in wrong.items():
        assert composer.fields[name] == [value]
    page = response.content.decode()
    assert f'id="f-{FIRST}-count-error"' in page
    assert f'href="#f-{FIRST}-capacity-0-value"' in page
    words = text(response)
    assert "“33” is no count" in words
    assert "10241 bytes long; Kubernetes takes at most 10240" in words
    assert manifest_of(response) is None


def test_what_is_typed_is_escaped(composer):
    response = composer.press("check", name="<script>alert(1)</script>")
    assert b"<script>alert(1)" not in response.content


def test_a_class_that_is_gone_stays_chosen(composer, text):
    composer.open()
    response = composer.press("check", **{f"{FIRST}-class": "gone.example.com"})
    assert composer.fields[f"{FIRST}-class"] == ["gone.example.com"]
    assert "no device class “gone.example.com”" in text(response)


def test_administrative_access_is_refused_in_a_sentence(composer, text):
    composer.open()
    response = composer.press("submit", name="a", **{f"{FIRST}-admin": "true"})
    assert response.status_code == 422
    assert "Administrative access needs a reason" in text(response)


def test_pasted_yaml_fills_the_form(composer):
    composer.open(SHARES)
    shown = manifest_of(composer.press("check"))
    from claims.services.yaml_text import dump

    composer.open()
    response = composer.press("take", yaml=dump(shown))
    assert response.status_code == 200
    assert manifest_of(response) == shown
    assert composer.fields["constraints-1-binds"] == ["0/1"]


def test_pasted_yaml_that_is_refused_changes_nothing(composer, text):
    composer.open(SHARES)
    before = dict(composer.fields)
    bad = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  labels: {a: 1}\n"
    response = composer.press("take", yaml=bad)
    assert response.status_code == 422
    assert "Line 4: A text is expected here; put it in quotes." in text(response)
    assert composer.fields.pop("yaml") == [bad]
    before.pop("yaml")
    assert composer.fields == before


@pytest.mark.parametrize(
    "bad", ["a: [", "x" * 300_000, "&a [*a]", "", "[" * 50_000, "a\x00"]
)
def test_hostile_yaml_is_one_sentence(composer, bad):
    composer.open()
    assert composer.press("take", yaml=bad).status_code == 422


def test_the_manifest_fragment_is_what_the_page_shows(composer):
    composer.open(SHARES)
    page = manifest_of(composer.press("check"))
    part = composer.client.post(composer.url + "manifest/", composer.fields)
    assert manifest_of(part) == page


def test_htmx_gets_the_form_alone(composer):
    composer.open(SHARES)
    page = composer.press("add-alternative:0", headers={"HX-Request": "true"}).content
    assert page.lstrip().startswith(b"<form")
    assert b'id="f-requests-0-alternatives-2-name"' in page
    assert page.count(b" autofocus") == 1


def test_a_person_without_a_namespace_can_try_but_not_submit(
    client, dora, fleet_cluster, text
):
    client.force_login(dora)
    response = client.get("/c/demo/compose/")
    assert "You have no namespace in demo" in text(response)


def test_a_form_with_too_many_of_everything_is_no_traceback(composer):
    composer.open()
    fields = {f"requests-{n}-name": "a" for n in range(400)}
    fields |= {f"requests-0-alternatives-{n}-class": "b" for n in range(400)}
    response = composer.client.post(composer.url, {**fields, "action": "submit"})
    assert response.status_code in (400, 422)


def test_garbage_actions_change_nothing(composer):
    composer.open(SHARES)
    before = dict(composer.fields)
    for action in (
        "",
        "x",
        "remove-alternative:9:9",
        "up-alternative:٣:1",
        "add-selector:0",
    ):
        assert composer.press(action).status_code == 200
    assert composer.fields == before


def test_the_form_asks_a_constant_number_of_queries(composer):
    composer.open(SHARES)
    with CaptureQueriesContext(connection) as small:
        composer.press("check")
    for _ in range(4):
        composer.press("add-alternative:0")
        composer.press("add-request")
    with CaptureQueriesContext(connection) as large:
        composer.press("check")

    assert len(large) <= len(small) <= 26
