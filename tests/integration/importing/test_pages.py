"""The import page without script, from the composer and back to it; and snippets."""

from __future__ import annotations

import html
import re

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile

from claims.services.fits import ClaimFit, fit_of
from tests.conftest import DATA
from tests.integration.importing.texts import FLAT, HEAD

PAGE = "/c/demo/import/"
OLD = HEAD.format(version="v1beta1") + FLAT


@pytest.fixture
def as_ada(client, ada, fleet_cluster):
    client.force_login(ada)
    return client


def words(response):
    return html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))


def values(response, name):
    page = response.content.decode()
    found = re.findall(rf'<input [^>]*name="{name}" value="([^"]*)"', page)
    return [html.unescape(each) for each in found]


def repaired(response):
    page = response.content.decode()
    start = page.index(">", page.index('id="repaired-text"')) + 1
    return html.unescape(page[start : page.index("</pre>", start)])


def test_a_stranger_signs_in_first(client, fleet_cluster):
    assert client.get(PAGE).status_code == 302


def test_what_is_pasted_is_repaired_and_shown_as_a_diff(as_ada):
    response = as_ada.post(PAGE, {"text": OLD.replace("\n", "\r\n")})

    assert response.status_code == 200
    said = words(response)
    assert "v1beta1 is an older version" in said
    assert "2 things were put right" in said
    assert "+apiVersion: resource.k8s.io/v1\n" in said
    assert "Line 2" in said
    assert "exactly:" in repaired(response)


def test_a_file_is_taken_like_a_text(as_ada):
    file = SimpleUploadedFile("old.yaml", b"\xef\xbb\xbf" + OLD.encode())

    response = as_ada.post(PAGE, {"file": file})

    assert "exactly:" in repaired(response)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xff\xfe\x00\x01", "no text in UTF-8"),
        (b"x" * 10_000_000, "KiB long"),
        (b"", "nothing here"),
        (b"a\x00b", "no text"),
    ],
)
def test_a_bad_file_is_one_sentence(as_ada, data, word):
    response = as_ada.post(PAGE, {"file": SimpleUploadedFile("f", data)})

    assert response.status_code == 422
    assert word in words(response)


def test_only_what_is_ticked_is_made_and_the_rest_stays(as_ada):
    first = as_ada.post(PAGE, {"text": OLD})
    shown = values(first, "shown")
    version = next(key for key in shown if "import.version" in key)
    sent = {"text": OLD, "for": values(first, "for")[0], "shown": shown}

    second = as_ada.post(PAGE, {**sent, "fix": [k for k in shown if k != version]})
    none = as_ada.post(PAGE, {**sent, "fix": []})

    assert "v1beta1" in repaired(second)
    assert repaired(none) == OLD
    assert "left as it was" in words(none)
    # Another text is not what was ticked.
    other = as_ada.post(PAGE, {**sent, "text": OLD + "# more\n", "fix": []})
    assert "exactly:" in repaired(other)


def test_the_repaired_text_is_downloaded(as_ada):
    response = as_ada.post(PAGE, {"text": OLD, "action": "download"})

    assert response["Content-Type"] == "application/yaml"
    assert "attachment" in response["Content-Disposition"]
    assert b"exactly:" in response.content


def test_the_composer_takes_what_import_gives(as_ada):
    response = as_ada.post(PAGE, {"text": OLD})
    page = response.content.decode()
    form = page[page.index('<form id="take-1-1"') :]
    text = html.unescape(
        re.search(r"<textarea[^>]*>\n(.*?)</textarea>", form, re.DOTALL)[1]
    )

    taken = as_ada.post("/c/demo/compose/", {"action": "take", "yaml": text})

    assert taken.status_code == 200
    assert 'value="one"' in taken.content.decode()


def test_a_compute_domain_goes_into_a_form_of_its_own(as_ada):
    text = (DATA / "guides" / "000-computedomain.yaml").read_text()
    page = as_ada.post(PAGE, {"text": text}).content.decode()
    form = page[page.index('<form id="take-1-domain"') :]
    form = form[: form.index("</form>")]
    assert 'action="/c/demo/compose/domain/"' in form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    fields.pop("csrfmiddlewaretoken")

    taken = as_ada.post("/c/demo/compose/domain/", fields)

    manifest = yaml.safe_load(text)
    assert fields["nodes"] == str(manifest["spec"]["numNodes"])
    assert taken.status_code == 200
    assert f'value="{manifest["metadata"]["name"]}"' in taken.content.decode()
    # What that form has no field for would be lost there.
    manifest["metadata"]["labels"] = {"team": "a"}
    response = as_ada.post(PAGE, {"text": yaml.safe_dump(manifest)})
    assert "take-1-domain" not in response.content.decode()


def test_the_composer_leads_to_import_with_what_it_could_not_take(as_ada):
    assert PAGE in as_ada.get("/c/demo/compose/").content.decode()

    refused = as_ada.post("/c/demo/compose/", {"action": "take", "yaml": OLD})

    page = refused.content.decode()
    assert 'id="repair-yaml" form="to-import"' in page
    assert "v1beta1" in page[page.index('form="to-import" name="text"') :]


def test_what_is_pasted_is_escaped(as_ada):
    response = as_ada.post(PAGE, {"text": "kind: <script>alert(1)</script>\n"})

    assert b"<script>alert(1)" not in response.content


def test_workloads_for_what_the_composer_holds(as_ada):
    manifest = repaired(as_ada.post(PAGE, {"text": OLD}))
    there = "/c/demo/compose/workloads/"

    page = as_ada.post(there, {"manifest": manifest})
    bundle = as_ada.post(
        there, {"manifest": manifest, "workload": "job", "as": "plain"}
    )

    assert "Two pods that share the claim" in words(page)
    assert bundle["Content-Type"] == "application/zip"
    assert as_ada.post(there, {"manifest": "x"}).status_code == 422
    bad = {"manifest": manifest, "workload": "job", "as": "x"}
    assert as_ada.post(there, bad).status_code == 404
    assert as_ada.get(there).status_code == 302


PAIR = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
    f"""- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {{name: {name}, namespace: ai-serving}}
  spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: {of}}}}}]}}}}
"""
    for name, of in (("first", "gpu.nvidia.com"), ("second", "gpu.nvidia.com"))
)


def test_each_claim_of_a_document_says_where_it_fits(as_ada):
    said = words(as_ada.post(PAGE, {"text": PAIR}))

    for name in ("first", "second"):
        assert re.search(rf"{name}\s+Now:\s+fits on \d+ of \d+ nodes", said), said


@pytest.mark.parametrize(
    ("nodes", "undecided", "error", "told", "silent"),
    [
        ((), 800, "", "On 800 nodes the search did not end", "fits on no node"),
        (("n1",), 7, "", "fits on 1 of 801 nodes", "fits on no node"),
        (("n1",), 7, "", "On 7 nodes the search did not end", "fits on no node"),
        ((), 0, "no such class", "no such class", "fits on no node"),
        ((), 0, "", "fits on no node now", "did not end"),
    ],
)
def test_import_is_never_surer_than_the_search(
    as_ada, monkeypatch, nodes, undecided, error, told, silent
):
    def fit(name, preview):
        assert fit_of(name, preview).total
        return ClaimFit(name, nodes, undecided, 801, error)

    monkeypatch.setattr("claims.services.importing.fit_of", fit)

    said = words(as_ada.post(PAGE, {"text": OLD}))

    assert told in said
    assert silent not in said
