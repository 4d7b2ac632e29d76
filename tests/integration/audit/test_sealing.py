"""The chain of hashes: complete, in order, and broken by any change."""

from __future__ import annotations

import json
import threading

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from portal.audit.domain.chain import GENESIS
from portal.audit.models import Seal
from portal.audit.services.sealing import seal, verify

pytestmark = pytest.mark.django_db


def tamper(statement, *values):
    """Run SQL as somebody would who can switch triggers off."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)
        assert cursor.rowcount > 0


def codes(**options):
    return [(fault.code, fault.number) for fault in verify(**options).faults]


def test_every_event_is_sealed_once_with_actor_reason_and_request(recorded):
    assert seal() == 4
    assert seal() == 0

    rows = list(Seal.objects.order_by("number"))
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert [row.previous for row in rows] == [GENESIS, *(r.digest for r in rows[:-1])]
    assert [row.actor for row in rows] == [
        "ada@orchid",
        "ben@platform",
        "slicewise-worker",
        "ada@orchid",
    ]
    assert rows[0].request_id == "request-one"
    assert rows[1].reason == "=HYPERLINK(1)"
    assert rows[1].changes == {"state": ["Submitted", "Applying"]}
    assert [row.is_routine for row in rows] == [False, False, True, False]
    assert codes() == []


def test_nothing_recorded_is_a_sound_chain(db):
    found = verify()
    assert (found.seals, found.head, found.faults) == (0, GENESIS, ())


@pytest.mark.parametrize("table", ["claims_claimrequestevent", "audit_seal"])
@pytest.mark.parametrize("verb", ["UPDATE", "DELETE"])
def test_the_database_itself_refuses_changes(recorded, table, verb):
    seal()
    column = "state" if table.startswith("claims") else "actor"
    sql = (
        f"UPDATE {table} SET {column} = 'x'"
        if verb == "UPDATE"
        else f"DELETE FROM {table}"
    )
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as c:
        c.execute(sql)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "UPDATE claims_claimrequestevent SET state = 'Active' WHERE state = 'Cancelled'",
            [("changed", 4)],
        ),
        (
            "DELETE FROM claims_claimrequestevent WHERE state = 'Cancelled'",
            [("removed", 4)],
        ),
        (
            'UPDATE pghistory_context SET metadata = metadata || \'{"actor": "eve"}\''
            " WHERE metadata->>'actor' = 'ben@platform'",
            [("context", 2)],
        ),
        ("UPDATE audit_seal SET actor = 'eve' WHERE number = 2", [("digest", 2)]),
        (
            "UPDATE audit_seal SET content ="
            " jsonb_set(content, '{event,state}', '\"Active\"') WHERE number = 4",
            [("changed", 4), ("digest", 4)],
        ),
        ("DELETE FROM audit_seal WHERE number = 2", [("gap", 3), ("previous", 3)]),
        (
            "UPDATE audit_seal SET digest = repeat('a', 64) WHERE number = 2",
            [("digest", 2), ("previous", 3)],
        ),
    ],
)
def test_tampering_is_found_and_named(recorded, statement, expected):
    seal()
    tamper(statement)
    # A seal that is gone leaves its event unsealed, and sealing it anew does not help.
    assert sorted(f for f in codes() if f[0] != "unsealed") == sorted(expected)


def test_cutting_off_the_end_is_found_by_the_head_that_was_kept(recorded):
    seal()
    head = verify().head
    assert codes(head=head) == []
    tamper("DELETE FROM audit_seal WHERE number = 4")
    tamper("DELETE FROM claims_claimrequestevent WHERE state = 'Cancelled'")
    assert codes() == []
    assert codes(head=head) == [("head", 0)]


def test_an_old_event_without_a_seal_is_found(recorded):
    seal()
    tamper("DELETE FROM audit_seal WHERE number = 4")
    tamper(
        "UPDATE claims_claimrequestevent SET pgh_created_at = now() - interval '1 hour'"
        " WHERE state = 'Cancelled'"
    )
    assert codes() == [("unsealed", 0)]


def test_the_command_says_it_in_words_and_by_its_exit_status(recorded, capsys):
    seal()
    call_command("verify_audit")
    assert "4 seals, as sealed" in capsys.readouterr().out
    tamper(
        "UPDATE claims_claimrequestevent SET message = 'No.' WHERE state = 'Cancelled'"
    )
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit", "--format", "json")
    assert ended.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert [fault["code"] for fault in found["faults"]] == ["changed"]


@pytest.mark.django_db(transaction=True)
def test_two_sealing_at_once_make_one_chain(recorded):
    counts = []

    def go():
        counts.append(seal())
        connection.close()

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 4
    assert codes() == []
