"""Forms of one's own account: the password, and codes of a second factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from portal.accounts import attempts

if TYPE_CHECKING:
    from portal.accounts.models import User

_TOO_MANY = _("Too many failed attempts. Wait five minutes, then try once more.")


class ChangePasswordForm(PasswordChangeForm):
    """The old password and a new one, twice; guesses at the old one are counted."""

    error_messages = {
        "password_mismatch": _("The two new passwords differ: type them once more."),
        "password_incorrect": _("That is not your present password. Capitals matter."),
    }

    def __init__(self, user: User, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self._address = address
        self.fields["old_password"].label = _("Present password")
        # It is one form of several on its page.
        self.fields["old_password"].widget.attrs.pop("autofocus", None)
        _dress(self)

    def clean_old_password(self) -> str:
        """Check it, unless it was guessed at too often of late."""
        given = str(self.cleaned_data["old_password"])
        return _checked(self.user, given, self._address)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # none at run time
    """A new password, twice, by a link that an administrator gave."""

    error_messages = ChangePasswordForm.error_messages

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self)


class PresentPasswordForm(forms.Form):
    """One's password, before something that weakens the account."""

    password = forms.CharField(
        label=_("Present password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": _("Type your present password.")},
    )

    def __init__(self, user: User, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user
        self._address = address
        self.fields["password"].widget.attrs["class"] = "in"

    def clean_password(self) -> str:
        """Check it, unless it was guessed at too often of late."""
        given = str(self.cleaned_data["password"])
        return _checked(self._user, given, self._address)


class CodeForm(forms.Form):
    """A code of the phone, or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        widget=forms.TextInput(
            attrs={
                "class": "in",
                "autocomplete": "one-time-code",
                "autocapitalize": "off",
                "spellcheck": "false",
            }
        ),
        error_messages={"required": _("Type the code.")},
    )


@sensitive_variables("password")
def _checked(user: User, password: str, address: str) -> str:
    """Return a present password, unless it is another or was guessed at too often."""
    who = {"name": f"password:{user.username}", "address": address}
    if attempts.exhausted(**who):
        raise forms.ValidationError(_TOO_MANY, code="too_many")
    if not user.check_password(password):
        attempts.record_failure(**who)
        text = ChangePasswordForm.error_messages["password_incorrect"]
        raise forms.ValidationError(text, code="password_incorrect")
    attempts.forget(**who)
    return password


def _dress(form: forms.Form) -> None:
    form.fields["new_password1"].label = _("New password")
    form.fields["new_password2"].label = _("New password, once more")
    form.fields["new_password1"].help_text = _(
        "At least twelve characters, not like your name, not one of the common ones."
    )
    form.fields["new_password2"].help_text = ""
    for field in form.fields.values():
        field.widget.attrs["class"] = "in"
