"""Send one message to one address; knows no rows."""

from __future__ import annotations

import smtplib
from collections.abc import Mapping

import httpx
from django.core.mail import EmailMessage

from portal.core.deadlines import Slots
from portal.core.outward import AddressRefused, AddressUnknown, outward_client

TIMEOUT_SECONDS = 5.0
# A whole exchange, however often a byte of it comes.
POST_SECONDS = 10.0
MAIL_SECONDS = 30.0
_mailing = Slots(4, "mailing")


class NotSent(Exception):
    """Nobody answered.

    Attributes:
        code: "refused", "unknown-host", "timeout", "unreachable" or "mail".
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def post(address: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Post JSON to an address out there and return the status of the answer.

    The answer's body is not read: it would be nobody's business here.

    Raises:
        NotSent: The address is not to be called, or nobody answers.
    """
    given = {
        "Content-Type": "application/json",
        "User-Agent": "slicewise-notices/1",
        **headers,
    }
    try:
        with (
            outward_client(
                address, timeout=TIMEOUT_SECONDS, seconds=POST_SECONDS, public=True
            ) as client,
            client.stream("POST", address, content=body, headers=given) as answer,
        ):
            return answer.status_code
    except AddressUnknown as error:
        raise NotSent("unknown-host") from error
    except AddressRefused as error:
        raise NotSent("refused") from error
    except httpx.TimeoutException as error:
        raise NotSent("timeout") from error
    except httpx.HTTPError as error:
        raise NotSent("unreachable") from error


def send_mail(address: str, subject: str, text: str) -> None:
    """Hand an e-mail to the mail server.

    Raises:
        NotSent: The mail server is away, or takes no mail for the address.
    """
    message = EmailMessage(subject, text, to=[address])
    message.extra_headers["Auto-Submitted"] = "auto-generated"
    try:
        _mailing.run(message.send, MAIL_SECONDS)
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent("mail") from error
