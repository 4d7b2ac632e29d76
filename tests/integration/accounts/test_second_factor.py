"""Passwords and codes of accounts that the portal keeps itself."""

from __future__ import annotations

import base64
import datetime as dt
import re
import time

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django_otp.oath import TOTP

from portal.accounts import second_factor
from portal.accounts.attempts import LIMIT
from portal.accounts.models import RecoveryCode, SecondFactor
from portal.accounts.second_factor import Found
from portal.core.secrets import decrypt
from portal.operations.services.keys import rotate_all
from tests.integration.api.conftest import call  # noqa: F401  a fixture

PASSWORD = "correct horse battery"
STEP = dt.timedelta(seconds=30)


def code_of(user, moment):
    row = SecondFactor.objects.get(user=user)
    totp = TOTP(base64.b32decode(decrypt(row.secret_encrypted)))
    totp.time = moment.timestamp()
    return f"{totp.token():06d}"


def wrong_code(user, moment):
    near = {code_of(user, moment + each * STEP) for each in (-2, -1, 0, 1, 2)}
    return next(f"{n:06d}" for n in range(10) if f"{n:06d}" not in near)


@pytest.fixture
def enrolled(ada, now):
    """Return Ada, whose second factor was switched on a minute ago, and her codes."""
    second_factor.begin(ada, now=now)
    at = now - 2 * STEP
    return ada, second_factor.confirm(ada, code_of(ada, at), now=at)


def sign_in(client, person, password=PASSWORD, target="/tokens/"):
    data = {"username": person.username, "password": password, "next": target}
    return client.post("/sign-in/", data)


def test_the_page_enrols_a_phone_and_shows_recovery_codes_once(client, ada):
    client.force_login(ada)
    assert client.post("/account/factor/begin")["Location"] == "/account/factor/"
    page = client.get("/account/factor/").content.decode()
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", page)[1]
    image = client.get("/account/factor/qr.svg")
    moment = dt.datetime.fromtimestamp(time.time(), dt.UTC)

    wrong = client.post("/account/factor/", {"code": wrong_code(ada, moment)})
    done = client.post("/account/factor/", {"code": code_of(ada, moment)})

    assert 'src="/account/factor/qr.svg"' in page
    assert image["Content-Type"] == "image/svg+xml"
    assert "no-store" in image["Cache-Control"]
    assert wrong.status_code == 422
    assert "does not fit" in wrong.content.decode()
    codes = re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}", done.content.decode())
    assert len(codes) == 10
    row = SecondFactor.objects.get(user=ada)
    assert secret not in row.secret_encrypted
    assert decrypt(row.secret_encrypted) == secret
    stored = set(RecoveryCode.objects.values_list("digest", flat=True))
    assert not stored & {code.replace("-", "") for code in codes}
    account = client.get("/account/").content.decode()
    assert codes[0] not in account
    assert "10 recovery codes left" in account
    assert client.get("/account/factor/qr.svg").status_code == 404


def test_the_code_is_asked_after_the_password_and_taken_once(
    client, enrolled, freeze, now
):
    person, _codes = enrolled
    freeze(now)
    first = sign_in(client, person)
    assert first["Location"] == "/sign-in/code/"
    assert "_auth_user_id" not in client.session
    assert client.get("/tokens/").status_code == 302
    code = code_of(person, now)

    let_in = client.post("/sign-in/code/", {"code": f" {code[:3]} {code[3:]} "})
    other = Client()
    sign_in(other, person)
    again = other.post("/sign-in/code/", {"code": code})

    assert let_in["Location"] == "/tokens/"
    assert client.get("/tokens/").status_code == 200
    assert again.status_code == 422
    assert other.get("/tokens/").status_code == 302


def test_the_code_alone_opens_nothing(client, enrolled, freeze, now):
    person, _codes = enrolled
    freeze(now)
    assert sign_in(client, person, "wrong").status_code == 422

    answer = client.post("/sign-in/code/", {"code": code_of(person, now)})

    assert answer["Location"] == "/sign-in/"


def test_a_password_that_fitted_is_forgotten_after_five_minutes(
    client, enrolled, freeze, now
):
    person, _codes = enrolled
    freeze(now)
    sign_in(client, person)
    later = now + dt.timedelta(minutes=5, seconds=1)
    freeze(later)

    answer = client.post("/sign-in/code/", {"code": code_of(person, later)})

    assert answer["Location"] == "/sign-in/"


def test_a_recovery_code_signs_in_once(client, enrolled, freeze, now):
    person, codes = enrolled
    freeze(now)
    sign_in(client, person)
    assert client.post("/sign-in/code/", {"code": codes[3].upper()}).status_code == 302
    assert "9 are left" in client.get("/tokens/").content.decode()

    other = Client()
    sign_in(other, person)

    assert other.post("/sign-in/code/", {"code": codes[3]}).status_code == 422
    event = apps.get_model("accounts", "RecoveryCodeEvent").objects.get()
    assert event.pgh_context.metadata["actor"] == person.username


def test_guesses_are_refused_after_ten_even_without_the_cache(
    client, enrolled, now, settings
):
    person, codes = enrolled
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "unix:///nonexistent/valkey.sock",
        }
    }
    bad = wrong_code(person, now)

    said = [second_factor.check(person, bad, now=now) for _ in range(LIMIT)]

    assert set(said) == {Found.WRONG}
    for text in (code_of(person, now), codes[0]):
        assert second_factor.check(person, text, now=now) is Found.TOO_MANY
    later = now + dt.timedelta(minutes=5)
    assert second_factor.check(person, code_of(person, later), now=later) is Found.FITS


@pytest.mark.parametrize("text", ["", "abc", "12345", "1234567", "١٢٣٤٥٦", "x" * 40])
def test_what_is_no_code_fits_nothing(enrolled, now, text):
    assert second_factor.check(enrolled[0], text, now=now) is Found.WRONG


def test_a_phone_may_be_half_a_minute_off(enrolled, now):
    person, _codes = enrolled

    late = second_factor.check(person, code_of(person, now - STEP), now=now)
    early = second_factor.check(person, code_of(person, now + STEP), now=now)
    back = second_factor.check(person, code_of(person, now), now=now)

    assert (late, early) == (Found.FITS, Found.FITS)
    assert back is Found.WRONG  # older than one that was taken


def test_switching_off_and_new_codes_want_the_password(client, enrolled, now):
    person, codes = enrolled
    client.force_login(person)

    refused = client.post("/account/factor/off", {"password": "wrong"})
    renewed = client.post("/account/factor/recovery", {"password": PASSWORD})
    assert refused.status_code == 422
    assert "not your present password" in refused.content.decode()
    assert second_factor.is_on(person)
    assert codes[0] not in renewed.content.decode()
    assert second_factor.check(person, codes[0], now=now) is Found.WRONG

    client.post("/account/factor/off", {"password": PASSWORD})

    assert not second_factor.is_on(person)
    assert not RecoveryCode.objects.exists()


def test_the_secret_is_found_by_key_rotation(enrolled, settings):
    person, _codes = enrolled
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"

    assert rotate_all().changed == 1
    settings.SECRET_KEY_FALLBACKS = []
    assert len(decrypt(SecondFactor.objects.get(user=person).secret_encrypted)) == 32


def test_a_role_that_demands_it_opens_nothing_else_before(ben, ada, call, settings):  # noqa: F811
    settings.SLICEWISE_SECOND_FACTOR_ROLES = ["approver"]
    client, other = Client(), Client()
    client.force_login(ben)
    other.force_login(ada)
    token = call(ben)

    assert client.get("/approvals/")["Location"] == "/account/"
    part = client.get("/notices/bell", headers={"HX-Request": "true"})
    assert part["HX-Redirect"] == "/account/"
    refused = client.get("/api/v1/me")
    assert (refused.status_code, refused.json()["code"]) == (403, "auth.second_factor")
    assert "demands a second factor" in client.get("/account/").content.decode()
    assert client.post("/account/factor/begin").status_code == 302
    assert client.get("/account/factor/").status_code == 200
    assert client.get("/account/factor/qr.svg").status_code == 200
    assert token.get("me").status_code == 200
    assert other.get("/approvals/").status_code == 200
    SecondFactor.objects.filter(user=ben).update(confirmed_at=ben.date_joined)
    assert client.get("/approvals/").status_code == 200


def test_everyone_may_be_told_but_not_those_of_a_provider(ada, cleo, settings):
    settings.SLICEWISE_SECOND_FACTOR_ROLES = ["everyone"]
    cleo.subject = "s-1"

    assert second_factor.is_demanded(ada)
    assert not second_factor.is_demanded(cleo)


def test_a_role_that_is_none_is_said_at_the_start(settings):
    settings.SLICEWISE_SECOND_FACTOR_ROLES = ["admins"]

    with pytest.raises(SystemCheckError, match="“admins”, which is no role"):
        call_command("check")


def test_changing_the_password_ends_other_sessions_and_keeps_this(client, ada):
    client.force_login(ada)
    other = Client()
    other.force_login(ada)
    new = {
        "new_password1": "another long phrase",
        "new_password2": "another long phrase",
    }

    wrong = client.post("/account/password", {"old_password": "x", **new})
    short = client.post(
        "/account/password",
        {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"},
    )
    done = client.post("/account/password", {"old_password": PASSWORD, **new})

    assert wrong.status_code == short.status_code == 422
    assert "not your present password" in wrong.content.decode()
    assert "too short" in short.content.decode()
    assert done.status_code == 302
    assert client.get("/tokens/").status_code == 200
    assert other.get("/tokens/").status_code == 302
    ada.refresh_from_db()
    assert ada.check_password("another long phrase")
    event = apps.get_model("accounts", "UserEvent").objects.get(username=ada.username)
    assert event.pgh_context.metadata["actor"] == ada.username
    assert event.password_set_at


def test_guesses_at_the_present_password_are_counted(client, enrolled):
    client.force_login(enrolled[0])
    for _ in range(LIMIT):
        client.post("/account/factor/off", {"password": "guess"})

    answer = client.post("/account/factor/off", {"password": PASSWORD})

    assert "Wait five minutes" in answer.content.decode()


def test_whoever_comes_by_a_provider_has_neither(client, cleo):
    cleo.subject, cleo.password = "s-1", "!"
    cleo.save()
    client.force_login(cleo)

    assert "kept there" in client.get("/account/").content.decode()
    for action in ("password", "factor/begin", "factor/off", "factor/recovery"):
        assert client.post(f"/account/{action}").status_code == 404
