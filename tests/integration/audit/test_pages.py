"""The audit page: for whom, what it finds, and the same as CSV."""

from __future__ import annotations

import csv
import io

import pytest

from portal.audit.services.sealing import event_models

pytestmark = pytest.mark.django_db


def csv_rows(response):
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("path", ["/audit/", "/audit.csv"])
def test_only_admins_and_auditors_see_it(client, ada, ben, dora, eli, path):
    for person, status in ((ada, 403), (ben, 403), (dora, 200), (eli, 200)):
        client.force_login(person)
        assert client.get(path).status_code == status


def test_it_shows_what_happened_up_to_this_moment(client, eli, recorded):
    client.force_login(eli)
    text = client.get("/audit/").content.decode()
    assert "Submitted" in text
    assert "Applying" in text
    assert str(recorded.public_id) in text
    assert "lease_until" not in text
    assert "lease_until" in client.get("/audit/?whole=1").content.decode()


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 3),
        ("whole=1", 4),
        ("actor=ben@platform", 1),
        ("actor=nobody", 0),
        ("q=request-one", 1),
        ("q=Enough", 1),
        ("table=claims.ClaimRequestEvent", 3),
        ("table=approvals.DecisionEvent", 0),
        ("since=2999-01-01", 0),
        ("until=1999-01-01", 0),
        ("since=2000-01-01&until=2999-01-01", 3),
        ("since=2000-99-99", 3),
        ("since=nonsense", 3),
    ],
)
def test_filters_find_on_the_page_and_in_the_export(
    client, eli, recorded, query, count
):
    client.force_login(eli)
    assert len(client.get(f"/audit/?{query}").context["rows"]) == count
    assert len(csv_rows(client.get(f"/audit.csv?{query}"))) == count


def test_a_cell_is_no_formula(client, eli, recorded):
    client.force_login(eli)
    [row] = csv_rows(client.get("/audit.csv?actor=ben@platform"))
    assert row["reason"] == "'=HYPERLINK(1)"
    assert len(row["digest"]) == 64


def test_older_ones_are_a_page_further(client, eli, recorded, monkeypatch):
    from portal.audit.views import trail

    monkeypatch.setattr(trail, "PER_PAGE", 2)
    client.force_login(eli)
    first = client.get("/audit/?q=").context
    assert [row.number for row, *_rest in first["rows"]] == [4, 2]
    second = client.get(f"/audit/?before={first['following']}").context
    assert [row.number for row, *_rest in second["rows"]] == [1]
    assert second["following"] is None


def test_the_number_of_queries_does_not_grow(
    client, eli, recorded, django_assert_max_num_queries
):
    client.force_login(eli)
    client.get("/audit/")
    # Looking first seals what is there: two queries a table of events.
    with django_assert_max_num_queries(10 + 2 * len(event_models())):
        client.get("/audit/")
