from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path",
    [
        "/c/de%00mo/",
        "/c/demo/gpus/?q=%00",
        "/requests/%00/",
        "/c/demo/devices/a/b%00/c/",
        "/%00",
    ],
)
def test_an_address_with_a_nul_is_refused_in_words(client, ada, load_fleets, path):
    load_fleets("nvidia-t4-l40s")
    client.force_login(ada)

    answer = client.get(path)

    assert answer.status_code == 400
    assert "<h1" in answer.content.decode()


def test_a_request_id_is_taken_over_or_made(client):
    assert (
        client.get("/healthz", headers={"X-Request-ID": "abcdefgh-1"})["X-Request-ID"]
        == "abcdefgh-1"
    )
    made = client.get("/healthz", headers={"X-Request-ID": "bad id\t"})["X-Request-ID"]
    assert len(made) == 32
