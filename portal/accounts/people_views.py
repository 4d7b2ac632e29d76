"""People: who there is, what they may do, and what an administrator does for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from portal.accounts import second_factor
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import User
from portal.accounts.people import (
    PersonChanged,
    PersonRefused,
    change_person,
    make_person,
    password_link,
    people_found,
    reset_second_factor,
)
from portal.accounts.people_forms import NewPersonForm, PersonForm, ReasonForm
from portal.core.errors import PortalError
from portal.core.keyset import BadCursor, decoded, page_of, rows_after

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest

PER_PAGE = 100
may_manage = requires(Permission.MANAGE_PEOPLE)


@may_manage
@require_http_methods(["GET", "POST"])
def person_list(request: PortalRequest) -> HttpResponse:
    """Show people by name; on POST make one."""
    form = NewPersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = make_person(
                **form.cleaned_data, actor=request.user, request_id=request.request_id
            )
        except PersonRefused as error:
            form.add_error(error.field or None, error.message)
        else:
            messages.success(
                request, _("The person is there. Give them a link for a password.")
            )
            return _to(made)
    text = request.GET.get("q", "").strip()[:150]
    try:
        key = decoded(request.GET.get("cursor", ""), (str,))
    except BadCursor:
        key = None
    rows = rows_after(people_found(text), ("username",), key)
    page = page_of(list(rows[: PER_PAGE + 1]), PER_PAGE, lambda row: (row.username,))
    context = {"nav": "people", "form": form, "page": page, "q": text}
    status = 422 if form.is_bound else 200
    return render(request, "accounts/person_list.html", context, status=status)


@never_cache
@may_manage
@require_http_methods(["GET", "POST"])
def person_detail(request: PortalRequest, pk: int) -> HttpResponse:
    """Show a person; on POST set their roles, unless somebody did so meanwhile."""
    person = _person(pk)
    form = PersonForm(person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            change_person(
                person,
                **form.cleaned_data,
                actor=request.user,
                request_id=request.request_id,
            )
        except PersonChanged as error:
            return _shown(request, person, form, status=409, problem=error.message)
        except PersonRefused as error:
            form.add_error(error.field or None, error.message)
        else:
            messages.success(request, _("It holds from now on."))
            return _to(person)
    return _shown(request, person, form, status=422 if form.is_bound else 200)


@never_cache
@may_manage
@require_POST
def person_link(request: PortalRequest, pk: int) -> HttpResponse:
    """Show, this once, the link by which a person chooses a password."""
    person = _person(pk)
    try:
        path = password_link(
            person,
            reason=_reason(request),
            actor=request.user,
            request_id=request.request_id,
            now=timezone.now(),
        )
    except PortalError as error:
        return _shown(request, person, problem=error.message, status=409)
    return _shown(request, person, link=request.build_absolute_uri(path))


@may_manage
@require_POST
def person_reset(request: PortalRequest, pk: int) -> HttpResponse:
    """Forget a person's second factor."""
    person = _person(pk)
    try:
        reset_second_factor(
            person,
            reason=_reason(request),
            actor=request.user,
            request_id=request.request_id,
        )
    except PortalError as error:
        return _shown(request, person, problem=error.message, status=409)
    messages.success(
        request, _("No code is asked of them; they can set up a new phone.")
    )
    return _to(person)


def _reason(request: PortalRequest) -> str:
    form = ReasonForm(request.POST)
    return str(form.cleaned_data["reason"]) if form.is_valid() else ""


def _person(pk: int) -> User:
    return get_object_or_404(people_found(), pk=pk)


def _shown(
    request: PortalRequest,
    person: User,
    form: PersonForm | None = None,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "nav": "people",
        "person": person,
        "form": form or PersonForm(person),
        "by_provider": bool(person.subject),
        "is_on": second_factor.has(person),
        "is_demanded": second_factor.is_demanded(person),
        "is_self": person.pk == request.user.pk,
        **more,
    }
    return render(request, "accounts/person_detail.html", context, status=status)


def _to(person: User) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("accounts:person-detail", args=[person.pk]))
