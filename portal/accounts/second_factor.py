"""The second factor of accounts with passwords: codes of a phone, and recovery codes.

Who comes by the sign-in provider has what the provider asks of them.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from urllib.parse import quote

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from django_otp.oath import TOTP

from portal.accounts.attempts import LIMIT, WINDOW_SECONDS
from portal.accounts.models import RecoveryCode, SecondFactor, User
from portal.accounts.tokens import digest_of
from portal.audit.context import acting
from portal.core.errors import PortalError
from portal.core.secrets import decrypt, encrypt

SECRET_BYTES = 20
STEP_SECONDS = 30
# A phone's clock may be so many steps off.
TOLERANCE = 1
DIGITS = 6
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # 80 random bits: their digest needs no salt
GROUP = 4
EVERYONE = "everyone"
ISSUER = "Slicewise"


class WrongCode(PortalError):
    """A code that does not fit; the message says what to do."""

    code = "accounts.wrong_code"


class Found(Enum):
    """What became of a code."""

    FITS = "fits"
    RECOVERY = "recovery"
    WRONG = "wrong"
    TOO_MANY = "too-many"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What a phone needs to show codes: a secret, and the same as an address."""

    secret: str
    address: str


def is_on(user: User) -> bool:
    """Return whether codes are asked of a person; one query."""
    rows = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False)
    return rows.exists()


def has(user: User) -> bool:
    """Return the same of a person as they were read; no query where it was joined."""
    row = getattr(user, "second_factor", None)
    return row is not None and row.confirmed_at is not None


def is_demanded(user: User) -> bool:
    """Return whether a person must have a second factor: by role, with a password."""
    wanted = set(settings.SLICEWISE_SECOND_FACTOR_ROLES)
    if user.subject or user.service_of_id is not None:
        return False
    return EVERYONE in wanted or bool(wanted & set(user.roles))


def begin(user: User, *, now: datetime) -> None:
    """Make a secret that is not asked for yet; one that is asked for stays."""
    secret = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
    with transaction.atomic(), acting(actor=user.username):
        SecondFactor.objects.filter(user=user, confirmed_at=None).delete()
        SecondFactor.objects.get_or_create(
            user=user, defaults={"secret_encrypted": encrypt(secret), "begun_at": now}
        )


def enrolment_of(user: User) -> Enrolment | None:
    """Return what an unconfirmed phone needs; None where none is being set up."""
    row = SecondFactor.objects.filter(user=user, confirmed_at=None).first()
    if row is None:
        return None
    secret = decrypt(row.secret_encrypted)
    label = quote(f"{ISSUER}:{user.username}", safe="")
    return Enrolment(
        secret, f"otpauth://totp/{label}?secret={secret}&issuer={quote(ISSUER)}"
    )


def confirm(user: User, text: str, *, now: datetime) -> list[str]:
    """Ask for codes from now on; return the recovery codes, which are shown once.

    Raises:
        WrongCode: The code does not fit, or nothing is being set up.
    """
    found = check(user, text, now=now, confirmed=False)
    if found is Found.TOO_MANY:
        raise WrongCode(too_many())
    if found is not Found.FITS:
        raise WrongCode(
            _(
                "That code does not fit. Take the one that the app shows now, and see"
                " that the clocks of phone and computer are right."
            )
        )
    with transaction.atomic(), acting(actor=user.username):
        rows = SecondFactor.objects.filter(user=user, confirmed_at=None)
        if not rows.update(confirmed_at=now):
            raise WrongCode(_("Nothing is being set up: begin anew."))
        return _new_recovery_codes(user)


def too_many() -> str:
    """Return what is said after too many wrong codes."""
    return _("Too many wrong codes. Wait five minutes, then try once more.")


def renew_recovery_codes(user: User) -> list[str]:
    """Replace all recovery codes; return them, which are shown once."""
    with transaction.atomic(), acting(actor=user.username):
        return _new_recovery_codes(user)


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes were not used yet; one query."""
    return user.recovery_codes.filter(used_at=None).count()


def _new_recovery_codes(user: User) -> list[str]:
    made = [
        base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
        for _each in range(RECOVERY_CODES)
    ]
    user.recovery_codes.all().delete()
    RecoveryCode.objects.bulk_create(
        RecoveryCode(user=user, digest=digest_of(code)) for code in made
    )
    return ["-".join(_grouped(code)) for code in made]


def _grouped(code: str) -> list[str]:
    return [code[at : at + GROUP] for at in range(0, len(code), GROUP)]


def check(user: User, text: str, *, now: datetime, confirmed: bool = True) -> Found:
    """Say whether a code fits; a code is taken once, and failures are counted.

    Args:
        user: whose it should be.
        text: as it was typed: six digits, or a recovery code.
        now: the moment.
        confirmed: of the factor that is asked for, or of one being set up.
    """
    given = "".join(text.split()).replace("-", "").lower()
    with transaction.atomic(), acting(actor=user.username):
        row = (
            SecondFactor.objects.select_for_update()
            .filter(user=user, confirmed_at__isnull=not confirmed)
            .first()
        )
        if row is None:
            return Found.WRONG
        if row.failures >= LIMIT and _is_recent(row, now):
            return Found.TOO_MANY
        return _checked(row, given, now)


def _checked(row: SecondFactor, given: str, now: datetime) -> Found:
    step = _step_of(row, given, now)
    if step is not None:
        _keep(row, last_step=step, failures=0, failing_since=None)
        return Found.FITS
    codes = RecoveryCode.objects.filter(
        user_id=row.user_id, digest=digest_of(given), used_at=None
    )
    if row.confirmed_at and codes.update(used_at=now):
        _keep(row, failures=0, failing_since=None)
        return Found.RECOVERY
    again = row.failures if _is_recent(row, now) else 0
    since = row.failing_since if again else now
    _keep(row, failures=again + 1, failing_since=since)
    return Found.WRONG


def _keep(row: SecondFactor, **columns: object) -> None:
    SecondFactor.objects.filter(pk=row.pk).update(**columns)


def _is_recent(row: SecondFactor, now: datetime) -> bool:
    since = row.failing_since
    return since is not None and now - since < timedelta(seconds=WINDOW_SECONDS)


def _step_of(row: SecondFactor, given: str, now: datetime) -> int | None:
    """Return the time step that a code is of, unless it is older than one taken."""
    if len(given) != DIGITS or not (given.isascii() and given.isdecimal()):
        return None
    key = base64.b32decode(decrypt(row.secret_encrypted))
    totp = TOTP(key, step=STEP_SECONDS, digits=DIGITS)
    totp.time = now.timestamp()
    fits = totp.verify(int(given), tolerance=TOLERANCE, min_t=row.last_step + 1)
    return totp.t() if fits else None


def switch_off(
    user: User, *, actor: str, reason: str = "", request_id: str = ""
) -> bool:
    """Ask no more codes of a person; return whether there was a factor to forget."""
    with (
        transaction.atomic(),
        acting(actor=actor, reason=reason, request_id=request_id),
    ):
        user.recovery_codes.all().delete()
        _count, by_model = SecondFactor.objects.filter(user=user).delete()
    return bool(by_model)
