"""The form of a subscription."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from portal.notices.domain.events import QUIET
from portal.notices.models import Subscription
from portal.notices.services.wording import SUBSCRIBABLE, WORDS

if TYPE_CHECKING:
    from portal.accounts.models import Tenant, User


class SubscriptionForm(forms.Form):
    """Whose it is, how it is sent and where to, and which events."""

    name = forms.CharField(
        label=_("What it is for"),
        max_length=63,
        error_messages={"required": _("Say what the subscription is for.")},
    )
    owner = forms.ChoiceField(
        label=_("Whose events"),
        required=False,
        help_text=_("A team's subscription is managed by all of its members."),
    )
    channel = forms.ChoiceField(label=_("Sent as"))
    address = forms.CharField(
        label=_("Where to"),
        max_length=500,
        help_text=_(
            "An address that begins with https://, or an e-mail address. It is stored"
            " encrypted."
        ),
        error_messages={"required": _("Say where it is to be sent.")},
    )
    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=[(event, WORDS[event][1]) for event in SUBSCRIBABLE],
        initial=[event for event in SUBSCRIBABLE if event not in QUIET],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one event.")},
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tenants = {tenant.name: tenant for tenant in person.tenants.all()}
        self.fields["owner"].choices = [  # type: ignore[attr-defined]
            ("", _("those about me")),
            *((name, _team(name)) for name in sorted(self._tenants)),
        ]
        self.fields["channel"].choices = offered_channels()  # type: ignore[attr-defined]
        for name in ("name", "owner", "channel", "address"):
            self.fields[name].widget.attrs["class"] = "in"

    def subscription(self) -> dict[str, Any]:
        """Return what `subscribe` takes; call it once the form is valid."""
        given = dict(self.cleaned_data)
        tenant: Tenant | None = self._tenants.get(given.pop("owner"))
        return {**given, "tenant": tenant}


def _team(name: str) -> str:
    return gettext("those of the team %(name)s") % {"name": name}


def offered_channels() -> list[tuple[str, Any]]:
    """Return the ways of sending; e-mail only where there is a mail server."""
    found: list[tuple[str, Any]] = list(Subscription.Channel.choices)
    if settings.SLICEWISE_EMAIL_URL:
        return found
    return [each for each in found if each[0] != Subscription.Channel.EMAIL]
