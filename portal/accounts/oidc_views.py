"""To the provider and back, and which groups of it give what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django.views.generic import View
from mozilla_django_oidc.views import (
    OIDCAuthenticationCallbackView,
    OIDCAuthenticationRequestView,
)

from portal.accounts import provider
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.forms import GroupMappingForm
from portal.accounts.mappings import MappingRefused, add_mapping, remove_mapping
from portal.accounts.models import GroupMapping
from portal.accounts.oidc import UNTRUSTED
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from portal.core.http import PortalRequest

logger = structlog.get_logger(__name__)

SERVER_FAULTS = 500
# What a provider answers that would vouch anew, but has to ask the person first.
ASKS = frozenset({"login_required", "interaction_required", "consent_required"})


@method_decorator((login_not_required, never_cache), name="dispatch")
class Begin(OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Leads to the provider."""

    get_settings = staticmethod(provider.setting)

    def __init__(self, **kwargs: Any) -> None:
        View.__init__(self, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect to where one signs in, or say that it does not answer."""
        if not provider.is_on():
            raise Http404
        try:
            found = provider.document(fresh=True)
        except PortalError as error:
            return _failed(request, error.message, status=503)
        self.OIDC_OP_AUTH_ENDPOINT = found["authorization_endpoint"]
        self.OIDC_RP_CLIENT_ID = provider.setting("OIDC_RP_CLIENT_ID")
        answer: HttpResponse = super().get(request)
        return answer


@method_decorator((login_not_required, never_cache), name="dispatch")
class Callback(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """Where the provider sends people back to."""

    get_settings = staticmethod(provider.setting)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Sign in, or say in one sentence why not."""
        if not provider.is_on():
            raise Http404
        if request.user.is_authenticated and request.GET.get("error") in ASKS:
            return self._asked(request)
        return self._end(request)

    def _asked(self, request: HttpRequest) -> HttpResponse:
        query = urlencode({"next": self.success_url})
        logout(request)
        return HttpResponseRedirect(f"{reverse('accounts:provider-begin')}?{query}")

    def _end(self, request: HttpRequest) -> HttpResponse:
        try:
            answer: HttpResponse = super().get(request)
        except provider.ProviderDown as error:
            return _failed(request, error.message, status=503)
        except PortalError as error:
            return _failed(request, error.message)
        except OSError as error:
            return self._unanswered(error)
        except UNTRUSTED as error:
            logger.warning("sign-in not trusted", error=str(error))
            return _failed(
                request,
                _("The provider's answer could not be trusted. Sign in once more."),
            )
        return answer

    def login_failure(self) -> HttpResponse:
        """Say that the provider, or an administrator, refused."""
        said = self.request.GET.get("error", "")
        logger.info("the provider refused", error=said[:100])
        return _failed(
            self.request,
            _("The provider did not sign you in, or your account is switched off."),
        )

    def _unanswered(self, error: OSError) -> HttpResponse:
        answer = getattr(error, "response", None)
        logger.warning("the provider failed", error=str(error)[:200])
        if answer is not None and answer.status_code < SERVER_FAULTS:
            return self.login_failure()
        down = _("The sign-in provider does not answer. Try again in a few minutes.")
        return _failed(self.request, down, status=503)


def _failed(request: HttpRequest, message: str, *, status: int = 403) -> HttpResponse:
    context = {"message": message}
    return render(request, "accounts/provider_failed.html", context, status=status)


begin = Begin.as_view()
callback = Callback.as_view()


@requires(Permission.MANAGE_PEOPLE)
@require_http_methods(["GET", "POST"])
def group_list(request: PortalRequest) -> HttpResponse:
    """Show which groups of the provider give what; on POST add one."""
    form = GroupMappingForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _added(request, form):
        messages.success(request, _("It holds from each person's next sign-in."))
        return HttpResponseRedirect(reverse("accounts:group-list"))
    rows = GroupMapping.objects.select_related("tenant")
    context = {
        "nav": "groups",
        "form": form,
        "mappings": rows.order_by("group", "role", "tenant__name"),
        "on": provider.is_on(),
    }
    status = 422 if form.is_bound else 200
    return render(request, "accounts/group_list.html", context, status=status)


def _added(request: PortalRequest, form: GroupMappingForm) -> bool:
    try:
        add_mapping(**form.mapping(), actor=request.user, request_id=request.request_id)
    except MappingRefused as error:
        form.add_error("group", error.message)
        return False
    return True


@requires(Permission.MANAGE_PEOPLE)
@require_POST
def group_remove(request: PortalRequest, pk: int) -> HttpResponse:
    """Take away what a group gives."""
    if not remove_mapping(pk, actor=request.user, request_id=request.request_id):
        raise Http404
    messages.success(request, _("It holds from each person's next sign-in."))
    return HttpResponseRedirect(reverse("accounts:group-list"))
