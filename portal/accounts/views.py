"""Sign-in, sign-out and the two preferences that live in cookies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from portal.accounts import provider, second_factor
from portal.accounts.account_views import ask_for_code
from portal.accounts.forms import SignInForm
from portal.core.context_processors import THEMES

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

YEAR_SECONDS = 365 * 24 * 3600


@method_decorator(login_not_required, name="dispatch")
class SignIn(auth_views.LoginView):
    """Django's sign-in with our form; a wrong pair answers 422 with one sentence."""

    template_name = "accounts/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page shows: also the way by a provider, where one is set."""
        return super().get_context_data(**kwargs, provider=provider.is_on())

    def form_valid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        """Sign in, or ask for a code first where the person has a second factor."""
        user = form.get_user()
        if second_factor.is_on(user):
            return ask_for_code(self.request, user, self.get_success_url())
        return super().form_valid(form)

    def form_invalid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        """Show the form again with what went wrong."""
        return self.render_to_response(self.get_context_data(form=form), status=422)


sign_in = SignIn.as_view()
sign_out = login_not_required(auth_views.LogoutView.as_view())
language = login_not_required(require_POST(set_language))


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie, or drop it for the system's own."""
    response = HttpResponseRedirect(_return_to(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            "theme",
            chosen,
            max_age=YEAR_SECONDS,
            samesite="Lax",
            httponly=True,
            secure=request.is_secure(),
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


def _return_to(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if ours else "/"
