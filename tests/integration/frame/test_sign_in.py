from __future__ import annotations

import uuid

import pytest
from django.core.exceptions import PermissionDenied
from django.test import RequestFactory

from portal.accounts import attempts
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import User

PASSWORD = "correct horse battery"


@pytest.fixture
def person(db):
    return User.objects.create_user(f"p-{uuid.uuid4().hex[:8]}", password=PASSWORD)


def _sign_in(client, name, password, **extra):
    data = {"username": name, "password": password, "next": "/healthz"}
    return client.post("/sign-in/", data, **extra)


def test_sign_in_right_pair(client, person):
    response = _sign_in(client, person.username, PASSWORD)

    assert (response.status_code, response["Location"]) == (302, "/healthz")


def test_sign_in_wrong_pair_says_one_sentence_and_keeps_the_name(client, person):
    response = _sign_in(client, person.username, "wrong")

    assert response.status_code == 422
    text = response.content.decode()
    assert "That name and password do not fit." in text
    assert f'value="{person.username}"' in text


def test_sign_in_does_not_tell_unknown_names_apart(client, person):
    known = _sign_in(client, person.username, "wrong").context["form"].errors
    unknown = _sign_in(client, uuid.uuid4().hex, "wrong").context["form"].errors

    assert known == unknown


def test_sign_in_stops_after_ten_failures(client, person):
    for _ in range(attempts.LIMIT):
        assert "do not fit" in _sign_in(client, person.username, "x").content.decode()

    response = _sign_in(client, person.username, PASSWORD)

    assert response.status_code == 422
    assert "Wait five minutes" in response.content.decode()
    elsewhere = _sign_in(client, person.username, PASSWORD, REMOTE_ADDR="10.0.0.9")
    assert elsewhere.status_code == 302


def test_sign_in_success_forgets_failures(client, person):
    for _ in range(attempts.LIMIT - 1):
        _sign_in(client, person.username, "x")
    _sign_in(client, person.username, PASSWORD)
    client.logout()
    _sign_in(client, person.username, "x")

    assert _sign_in(client, person.username, PASSWORD).status_code == 302


def test_sign_in_works_without_the_cache(client, person, settings):
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "unix:///nonexistent/valkey.sock",
        }
    }

    assert _sign_in(client, person.username, "x").status_code == 422
    assert _sign_in(client, person.username, PASSWORD).status_code == 302


def test_sign_out_is_a_post(client, person):
    client.force_login(person)

    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").status_code == 302
    assert "_auth_user_id" not in client.session


def test_strangers_are_sent_to_sign_in(client, db):
    page = client.get("/c/demo/freshness")
    fragment = client.get(
        "/c/demo/freshness",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/c/demo/"},
    )
    stream = client.get("/c/demo/events", headers={"Accept": "text/event-stream"})

    assert page["Location"] == "/sign-in/?next=/c/demo/freshness"
    assert fragment["HX-Redirect"].startswith("/sign-in/?next=")
    assert stream.status_code == 401


@pytest.mark.parametrize(
    ("theme", "attribute"),
    [
        ("dark", 'data-theme="dark"'),
        ("light", 'data-theme="light"'),
        ("", "<html lang"),
    ],
)
def test_theme_is_kept_in_a_cookie(client, db, theme, attribute):
    response = client.post("/preferences/theme", {"theme": theme, "next": "/sign-in/"})

    assert response["Location"] == "/sign-in/"
    html = client.get("/sign-in/").content.decode()
    assert attribute in html
    assert ("data-theme" in html) == bool(theme)


def test_theme_ignores_what_it_does_not_know(client, db):
    client.cookies["theme"] = '"><script>'

    assert "data-theme" not in client.get("/sign-in/").content.decode()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""]
)
@pytest.mark.parametrize("form", ["theme", "language"])
def test_preferences_never_lead_elsewhere(client, db, form, target):
    response = client.post(
        f"/preferences/{form}", {"theme": "dark", "language": "ko", "next": target}
    )

    assert response["Location"] == "/"


def test_language_is_remembered(client, db):
    client.post("/preferences/language", {"language": "ko", "next": "/sign-in/"})

    html = client.get("/sign-in/").content.decode()

    assert '<html lang="ko"' in html
    assert "로그인" in html


def _request(user):
    request = RequestFactory().get("/")
    request.user = user

    async def auser():
        return user

    request.auser = auser
    return request


def test_requires_lets_pass_and_refuses_in_words():
    view = requires(Permission.MANAGE_CLUSTERS)(lambda request: "shown")

    assert view(_request(User(username="dora", roles=["admin"]))) == "shown"
    with pytest.raises(PermissionDenied, match="right to manage clusters"):
        view(_request(User(username="ada", roles=[])))


async def test_requires_an_async_view():
    @requires(Permission.DECIDE)
    async def view(request):
        return "shown"

    assert await view(_request(User(username="ben", roles=["approver"]))) == "shown"
    with pytest.raises(PermissionDenied, match="decide about requests"):
        await view(_request(User(username="ada", roles=[])))
