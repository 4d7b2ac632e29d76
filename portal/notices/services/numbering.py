"""Give new notices their numbers, so that readers of the log miss none.

Transactions end in another order than they begin: a key given inside one may become
visible behind a greater one. Numbers are given afterwards, one giver at a time, and
become visible in their order.
"""

from __future__ import annotations

from django.db import connection, transaction

from portal.notices.models import Notice

# Any number that nothing else locks by.
_LOCK = 0x6E6F7469
_NUMBER = """
UPDATE notices_notice SET number = nextval('notices_notice_number')
FROM (SELECT id FROM notices_notice WHERE number IS NULL ORDER BY id) fresh
WHERE notices_notice.id = fresh.id
"""


def number_new() -> None:
    """Number all committed notices that have none; one read where there are none."""
    if not Notice.objects.filter(number=None).exists():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        cursor.execute(_NUMBER)
