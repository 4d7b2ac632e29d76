"""Forms by which administrators make and change people and tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.accounts.domain.roles import Role
from portal.accounts.people import state_of
from portal.accounts.tenants import Wanted

if TYPE_CHECKING:
    from portal.accounts.models import Tenant, User

ROLE_WORDS = {
    Role.APPROVER: _("approver: decides about requests"),
    Role.ADMIN: _("admin: manages clusters, people, policy and budgets"),
    Role.AUDITOR: _("auditor: reads everything, and changes nothing"),
}


class _RolesForm(forms.Form):
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=list(ROLE_WORDS.items()),
        widget=forms.CheckboxSelectMultiple,
    )


class NewPersonForm(_RolesForm):
    """A name and roles; the password is chosen by a link."""

    username = forms.CharField(
        label=_("Name"),
        max_length=150,
        help_text=_(
            "As the person is called in the clusters, such as ada@example.com."
        ),
        widget=forms.TextInput(attrs={"class": "in", "autocomplete": "off"}),
        error_messages={"required": _("Give the person a name.")},
    )
    field_order = ["username", "roles"]


class PersonForm(_RolesForm):
    """Roles, and whether one may sign in; `seen` is what the page showed."""

    is_active = forms.BooleanField(
        label=_("May sign in, and their tokens work"), required=False
    )
    reason = forms.CharField(
        label=_("Reason, for the audit trail"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"class": "in"}),
    )
    seen = forms.CharField(widget=forms.HiddenInput, max_length=16)

    def __init__(self, person: User, data: Any = None) -> None:
        initial = {
            "roles": list(person.roles),
            "is_active": person.is_active,
            "seen": state_of(person),
        }
        super().__init__(data, initial=initial)


class ReasonForm(forms.Form):
    """Why something is done to somebody."""

    reason = forms.CharField(label=_("Reason"), required=False, max_length=500)


class TenantForm(forms.Form):
    """A team's group, members and namespaces; `version` is what the page showed."""

    name = forms.CharField(
        label=_("Name"),
        max_length=63,
        help_text=_("Letters, digits, “-” and “_”; it stays as it is."),
        error_messages={"required": _("Give the team a name.")},
    )
    group = forms.CharField(
        label=_("Kubernetes group"),
        max_length=128,
        help_text=_("Members act with it in the clusters, such as slicewise:orchid."),
        error_messages={"required": _("Name the group.")},
    )
    members = forms.CharField(
        label=_("Members"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("One name a line; whoever comes by the provider is not listed."),
    )
    namespaces = forms.CharField(
        label=_("Namespaces"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("One a line, as cluster/namespace."),
    )
    reason = forms.CharField(
        label=_("Reason, for the audit trail"), required=False, max_length=500
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, tenant: Tenant | None, data: Any = None) -> None:
        super().__init__(data, initial=_shown(tenant) if tenant else None)
        if tenant is not None:
            del self.fields["name"]
        for field in self.fields.values():
            field.widget.attrs["class"] = "in"

    def clean_members(self) -> frozenset[str]:
        """Return the names."""
        return frozenset(self.cleaned_data["members"].split())

    def clean_namespaces(self) -> frozenset[tuple[str, str]]:
        """Return each as (cluster, namespace)."""
        found = set()
        for line in self.cleaned_data["namespaces"].split():
            cluster, slash, namespace = line.partition("/")
            if not (cluster and slash and namespace):
                raise forms.ValidationError(
                    _("“%(line)s” is not written as cluster/namespace."),
                    params={"line": line[:100]},
                )
            found.add((cluster, namespace))
        return frozenset(found)

    @property
    def wanted(self) -> Wanted:
        """What the team is to be."""
        clean = self.cleaned_data
        return Wanted(clean["group"], clean["members"], clean["namespaces"])


def _shown(tenant: Tenant) -> dict[str, Any]:
    by_hand = tenant.members.filter(subject="", service_of=None)
    places = tenant.namespaces.order_by("cluster", "namespace")
    return {
        "group": tenant.group,
        "members": "\n".join(
            by_hand.order_by("username").values_list("username", flat=True)
        ),
        "namespaces": "\n".join(f"{row.cluster}/{row.namespace}" for row in places),
        "version": tenant.version,
    }
