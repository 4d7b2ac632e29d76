"""The sign-in form."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from portal.accounts import attempts
from portal.accounts.domain.roles import Role
from portal.accounts.domain.scopes import Scope
from portal.accounts.models import Tenant

if TYPE_CHECKING:
    from portal.accounts.models import User


class SignInForm(AuthenticationForm):
    """A name and a password; one sentence when they do not fit, or after ten failures."""

    error_messages = {
        "invalid_login": _(
            "That name and password do not fit. Check both; capitals matter."
        ),
        "inactive": _("This account is switched off. Ask an administrator."),
        "too_many": _(
            "Too many failed attempts. Wait five minutes, then try once more."
        ),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name")
        for field in self.fields.values():
            field.widget.attrs["class"] = "in"

    def confirm_login_allowed(self, user: Any) -> None:
        """Refuse accounts that are switched off, and those that are no person's."""
        if user.service_of_id is not None:
            raise self.get_invalid_login_error()
        super().confirm_login_allowed(user)

    def clean(self) -> dict[str, Any]:
        """Check the pair, unless this name failed too often from this address."""
        name = str(self.cleaned_data.get("username", ""))
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        if attempts.exhausted(name=name, address=address):
            raise forms.ValidationError(
                self.error_messages["too_many"], code="too_many"
            )
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            attempts.record_failure(name=name, address=address)
            raise
        attempts.forget(name=name, address=address)
        return cleaned


class TokenForm(forms.Form):
    """What a token is for, what it may do, and how long."""

    name = forms.CharField(
        label=_("What it is for"),
        max_length=63,
        error_messages={"required": _("Say what the token is for.")},
    )
    days = forms.IntegerField(
        label=_("Ends after days"),
        min_value=1,
        max_value=365,
        initial=90,
        help_text=_("1 to 365"),
    )
    addresses = forms.CharField(
        label=_("Works only from"),
        required=False,
        max_length=1_000,
        help_text=_(
            "Networks such as 10.0.0.0/8, by comma; from anywhere where it is empty."
        ),
    )
    scopes = forms.MultipleChoiceField(
        label=_("May be used to"),
        choices=[
            (Scope.INVENTORY_READ, _("read the inventory")),
            (
                Scope.INVENTORY_WRITE,
                _("keep views, and set up clusters where your role may"),
            ),
            (Scope.CLAIMS_CHECK, _("check and preview claims")),
            (Scope.CLAIMS_READ, _("read your requests and claims")),
            (Scope.CLAIMS_WRITE, _("submit and release requests")),
            (
                Scope.TENANTS_READ,
                _("read names of other tenants, where your role may"),
            ),
            (Scope.APPROVALS_READ, _("read approvals and the exposure report")),
            (Scope.APPROVALS_DECIDE, _("decide about requests, where your role may")),
            (Scope.GOVERN_READ, _("read the policy, budgets and quotas")),
            (
                Scope.GOVERN_WRITE,
                _("change the policy, budgets and quotas, where your role may"),
            ),
            (Scope.PEOPLE_READ, _("read people and teams, where your role may")),
            (Scope.PEOPLE_WRITE, _("change people and teams, where your role may")),
            (Scope.AUDIT_READ, _("read the audit trail, where your role may")),
            (Scope.NOTICES_READ, _("read your notices and subscriptions")),
            (Scope.NOTICES_WRITE, _("subscribe, and mark notices as read")),
            (Scope.METRICS_READ, _("read the portal's metrics, where your role may")),
        ],
        initial=[Scope.INVENTORY_READ, Scope.CLAIMS_CHECK, Scope.CLAIMS_READ],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one use.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "days", "addresses"):
            self.fields[name].widget.attrs["class"] = "in"

    def clean_addresses(self) -> list[str]:
        """Return the networks, as they are written everywhere."""
        words = self.cleaned_data["addresses"].replace(",", " ").split()
        return [_network(word) for word in words]


def _network(word: str) -> str:
    try:
        return str(ip_network(word, strict=False))
    except ValueError as error:
        raise forms.ValidationError(
            _("“%(text)s” is no network: write it as 10.0.0.0/8."),
            params={"text": word[:50]},
        ) from error


class ServiceAccountForm(forms.Form):
    """Whose it is, and what it is called."""

    tenant = forms.ChoiceField(label=_("Team"))
    name = forms.RegexField(
        r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$",
        label=_("Name"),
        max_length=42,
        help_text=_("Small letters, digits and “-”, such as nightly-ci."),
        error_messages={
            "required": _("Give it a name."),
            "invalid": _("Use small letters, digits and “-” alone."),
        },
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tenants = {tenant.name: tenant for tenant in person.tenants.all()}
        self.fields["tenant"].choices = [(n, n) for n in sorted(self._tenants)]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.widget.attrs["class"] = "in"

    def clean_tenant(self) -> Tenant:
        """Return the tenant itself."""
        return self._tenants[self.cleaned_data["tenant"]]


class GroupMappingForm(forms.Form):
    """A group of the provider, and the role or the team that it gives."""

    group = forms.CharField(
        label=_("Group"),
        max_length=255,
        help_text=_("As the provider writes it; capitals matter."),
        error_messages={"required": _("Name the group.")},
    )
    gives = forms.ChoiceField(label=_("Gives"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = Tenant.objects.order_by("name").values_list("name", flat=True)
        self.fields["gives"].choices = [  # type: ignore[attr-defined]
            (_("Roles"), [(f"role:{role}", role.value) for role in Role]),
            (_("Teams"), [(f"tenant:{name}", name) for name in names]),
        ]
        for field in self.fields.values():
            field.widget.attrs["class"] = "in"

    def mapping(self) -> dict[str, str]:
        """Return what was chosen: group, and role or tenant by name."""
        kind, _colon, value = self.cleaned_data["gives"].partition(":")
        given = {"role": "", "tenant": "", kind: value}
        return {"group": self.cleaned_data["group"], **given}
