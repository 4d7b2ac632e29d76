"""One's own account: the password, the second factor, and its codes at sign-in."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import segno
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts import second_factor
from portal.accounts.account_forms import (
    ChangePasswordForm,
    CodeForm,
    NewPasswordForm,
    PresentPasswordForm,
)
from portal.accounts.models import User
from portal.accounts.second_factor import Found
from portal.accounts.services import password_was_set
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpRequest

    from portal.core.http import PortalRequest

BACKEND = "django.contrib.auth.backends.ModelBackend"
PENDING = "second_factor"
# Between the password and the code.
PENDING_FOR = timedelta(minutes=5)


def ask_for_code(request: HttpRequest, user: User, target: str) -> HttpResponse:
    """Keep whose password fitted, and lead to where the code is asked."""
    request.session[PENDING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "until": (timezone.now() + PENDING_FOR).isoformat(),
        "next": target,
    }
    return HttpResponseRedirect(reverse("accounts:sign-in-code"))


def _pending(request: HttpRequest) -> tuple[User, str] | None:
    """Return whose password fitted a moment ago, and where they were going."""
    kept = request.session.get(PENDING)
    if not kept or kept["until"] < timezone.now().isoformat():
        return None
    user = User.objects.filter(pk=kept["user"], is_active=True).first()
    if user is None or user.get_session_auth_hash() != kept["hash"]:
        return None
    return user, kept["next"]


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code of whoever's password fitted, and let them in."""
    pending = _pending(request)
    if pending is None:
        return HttpResponseRedirect(reverse("accounts:sign-in"))
    user, target = pending
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        found = second_factor.check(user, form.cleaned_data["code"], now=timezone.now())
        if found in (Found.FITS, Found.RECOVERY):
            return _let_in(request, user, target, found)
        form.add_error("code", _sentence(found))
    status = 422 if form.is_bound else 200
    return render(request, "accounts/sign_in_code.html", {"form": form}, status=status)


def _sentence(found: Found) -> str:
    if found is Found.TOO_MANY:
        return second_factor.too_many()
    return _(
        "That code does not fit, or was used already. Take the one that is shown now."
    )


def _let_in(
    request: HttpRequest, user: User, target: str, found: Found
) -> HttpResponse:
    del request.session[PENDING]
    login(request, user, backend=BACKEND)
    if found is Found.RECOVERY:
        left = second_factor.recovery_codes_left(user)
        messages.warning(
            request,
            _("You used a recovery code; %(left)d are left.") % {"left": left},
        )
    return HttpResponseRedirect(target)


@never_cache
@require_GET
def account(request: PortalRequest) -> HttpResponse:
    """Show one's account: how one signs in, and what is asked beside the password."""
    return _account(request)


def _account(request: PortalRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    user = request.user
    address = request.META.get("REMOTE_ADDR", "")
    context = {
        "nav": "account",
        "person": user,
        "by_provider": bool(user.subject),
        "is_on": second_factor.is_on(user),
        "is_demanded": second_factor.is_demanded(user),
        "left": second_factor.recovery_codes_left(user),
        "password_form": ChangePasswordForm(user, address=address),
        "present_form": PresentPasswordForm(user, address=address),
        **more,
    }
    return render(request, "accounts/account.html", context, status=status)


@require_POST
def password_change(request: PortalRequest) -> HttpResponse:
    """Change one's password; other sessions end, this one and tokens go on."""
    _with_password(request)
    address = request.META.get("REMOTE_ADDR", "")
    form = ChangePasswordForm(request.user, request.POST, address=address)
    if not form.is_valid():
        return _account(request, status=422, password_form=form)
    user = form.save(commit=False)
    password_was_set(user, request_id=request.request_id, now=timezone.now())
    update_session_auth_hash(request, user)
    messages.success(
        request, _("The password is changed; other sessions of yours have ended.")
    )
    return redirect("accounts:account")


@require_POST
def factor_begin(request: PortalRequest) -> HttpResponse:
    """Make a secret for a phone, to be confirmed."""
    _with_password(request)
    second_factor.begin(request.user, now=timezone.now())
    return redirect("accounts:factor")


@never_cache
@require_http_methods(["GET", "POST"])
def factor(request: PortalRequest) -> HttpResponse:
    """Show what the phone needs; on POST take its first code."""
    enrolment = second_factor.enrolment_of(request.user)
    if enrolment is None:
        return redirect("accounts:account")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            codes = second_factor.confirm(
                request.user, form.cleaned_data["code"], now=timezone.now()
            )
        except PortalError as error:
            form.add_error("code", error.message)
        else:
            return _recovery(request, codes)
    context = {"nav": "account", "form": form, "secret": enrolment.secret}
    status = 422 if form.is_bound else 200
    return render(request, "accounts/factor.html", context, status=status)


def _recovery(request: PortalRequest, codes: list[str]) -> HttpResponse:
    context = {"nav": "account", "codes": codes}
    return render(request, "accounts/recovery_codes.html", context)


@never_cache
@require_GET
def factor_image(request: PortalRequest) -> HttpResponse:
    """Answer with the QR code of what is being set up, as SVG."""
    enrolment = second_factor.enrolment_of(request.user)
    if enrolment is None:
        raise Http404
    out = io.BytesIO()
    segno.make(enrolment.address, error="m").save(
        out, kind="svg", scale=5, border=4, dark="#000", light="#fff"
    )
    return HttpResponse(out.getvalue(), content_type="image/svg+xml")


@never_cache
@require_POST
def recovery_renew(request: PortalRequest) -> HttpResponse:
    """Make new recovery codes and show them, this once."""
    form = _confirmed(request)
    if not second_factor.is_on(request.user):
        return redirect("accounts:account")
    if form.errors:
        return _account(request, status=422, present_form=form)
    return _recovery(request, second_factor.renew_recovery_codes(request.user))


@require_POST
def factor_off(request: PortalRequest) -> HttpResponse:
    """Ask no more codes of oneself."""
    form = _confirmed(request)
    if not second_factor.is_on(request.user):
        return redirect("accounts:account")
    if form.errors:
        return _account(request, status=422, present_form=form)
    second_factor.switch_off(
        request.user, actor=request.user.username, request_id=request.request_id
    )
    messages.success(request, _("No code is asked of you any more."))
    return redirect("accounts:account")


def _confirmed(request: PortalRequest) -> forms.Form:
    _with_password(request)
    address = request.META.get("REMOTE_ADDR", "")
    return PresentPasswordForm(request.user, request.POST, address=address)


def _with_password(request: PortalRequest) -> None:
    """Refuse, as there is nothing here, whoever comes by the provider."""
    if not request.user.has_usable_password():
        raise Http404


@method_decorator(
    (login_not_required, require_http_methods(["GET", "POST"])), name="dispatch"
)
class SetPassword(PasswordResetConfirmView):
    """Where the link leads that an administrator gave: choose a password."""

    form_class = NewPasswordForm
    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("accounts:sign-in")

    def form_valid(self, form: Any) -> HttpResponse:
        """Keep the password, and lead to the sign-in."""
        answer = super().form_valid(form)
        request_id = getattr(self.request, "request_id", "")
        password_was_set(form.user, request_id=request_id, now=timezone.now())
        messages.success(self.request, _("Your password is set: sign in with it."))
        return answer


set_password = SetPassword.as_view()
