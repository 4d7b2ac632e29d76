"""The sign-in form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from portal.accounts import attempts


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
