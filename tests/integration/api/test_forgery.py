"""No other site makes a browser change anything: a session alone does not, anywhere.

Every address of the URL conf is sent every method that changes something, by somebody
who is signed in and may do all that a role gives, without and with the token that only
a page of the portal knows.
"""

from __future__ import annotations

from django.db import transaction
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from tests.integration.api.test_permissions import (  # noqa: F401  world: a fixture
    ROUTES,
    TABLE,
    address_of,
    session_of,
    world,
)

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
# A cluster's API server calls the webhooks, without cookies: whose session a browser
# sends is not read. And where there is no address, nothing is done.
NOT_FOR_BROWSERS = frozenset(
    {"api:nothing", *(name for name in ROUTES if name.startswith("admission-hooks:"))}
)
WORDS = ("This form is too old", "CSRF Failed")
TOKEN = _get_new_csrf_string()


def sent(cookies, name, method, *, token):
    """Return the answer to a call of somebody's browser; what it changes is taken back."""
    client = Client(enforce_csrf_checks=True)
    client.cookies.load(cookies)
    headers = {}
    if token:
        client.cookies["csrftoken"] = TOKEN
        headers["X-CSRFToken"] = TOKEN
    with transaction.atomic():
        answer = client.generic(method, address_of(name), headers=headers)
        text = answer.content.decode() if not answer.streaming else ""
        transaction.set_rollback(True)
    return answer.status_code, any(word in text for word in WORDS)


def changing():
    """Yield (name, method) of all that changes anything.

    That no address answers another method is what test_permissions sees to.
    """
    for name, methods in sorted(TABLE.items()):
        for method in UNSAFE:
            if method in methods and name not in NOT_FOR_BROWSERS:
                yield name, method


def test_a_session_without_a_token_changes_nothing(world):  # noqa: F811
    assert set(ROUTES) == set(TABLE)
    cookies = session_of(world["dora"])
    calls = list(changing())
    assert len(calls) > 140
    assert [
        (name, method, found)
        for name, method in calls
        if (found := sent(cookies, name, method, token=False)) != (403, True)
    ] == []


def test_the_token_is_what_it_takes(world):  # noqa: F811
    cookies = session_of(world["dora"])
    assert [
        (name, method, found)
        for name, method in changing()
        if (found := sent(cookies, name, method, token=True))[1] or found[0] == 500
    ] == []
