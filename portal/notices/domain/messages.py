"""What is sent of a notice, in the shape that each kind of receiver takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

Json = dict[str, Any]

# Slack's own marks in a text. Source: Slack, "Formatting text for app surfaces".
_SLACK_MARKS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A notice in words and data.

    Attributes:
        sentence: what happened, for a person.
        url: where it is shown: absolute, or a path where the portal knows no host.
    """

    id: str
    number: int | None
    event: str
    subject: str
    sentence: str
    tenant: str | None
    payload: Json
    url: str
    at: datetime

    @property
    def is_linked(self) -> bool:
        """Whether the address leads there from anywhere."""
        return self.url.startswith(("https://", "http://"))


def notice_document(facts: Facts) -> Json:
    """Return a notice as programs read it: in webhooks, events and lists alike."""
    return {
        "id": facts.id,
        "event": facts.event,
        "subject": facts.subject,
        "sentence": facts.sentence,
        "tenant": facts.tenant,
        "payload": facts.payload,
        "url": facts.url,
        "at": facts.at.isoformat(),
    }


def webhook_body(facts: Facts) -> Json:
    """Return the body of a signed webhook. Source: Standard Webhooks, "Payload"."""
    return {
        "type": facts.event,
        "timestamp": facts.at.isoformat(),
        "data": notice_document(facts),
    }


def slack_body(facts: Facts) -> Json:
    """Return a message as Slack's incoming webhooks take it."""
    text = "".join(_SLACK_MARKS.get(sign, sign) for sign in facts.sentence)
    link = f" <{facts.url}|Slicewise>" if facts.is_linked else ""
    return {"text": text + link}


def teams_body(facts: Facts) -> Json:
    """Return a message with an adaptive card, as Teams' workflows take it."""
    card: Json = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": facts.sentence, "wrap": True},
            {"type": "TextBlock", "text": facts.subject, "isSubtle": True},
        ],
    }
    if facts.is_linked:
        action = {"type": "Action.OpenUrl", "title": "Slicewise", "url": facts.url}
        card["actions"] = [action]
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def email_text(facts: Facts) -> tuple[str, str]:
    """Return the subject line and the text of an e-mail."""
    lines = [facts.sentence, "", facts.subject, facts.url]
    line = " ".join(facts.sentence.split())
    return f"[Slicewise] {line[:180]}", "\n".join(lines) + "\n"
