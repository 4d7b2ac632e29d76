"""What a view demands of the person."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.http import HttpRequest

    from portal.accounts.models import User

View = TypeVar("View", bound=Callable[..., Any])
WORDS = {
    Permission.SEE_INVENTORY: _lazy("see the inventory"),
    Permission.SEE_HOLDERS: _lazy("see who holds which device"),
    Permission.MANAGE_CLUSTERS: _lazy("manage clusters"),
    Permission.COMPOSE: _lazy("compose claims"),
    Permission.SEE_ALL_CLAIMS: _lazy("see the claims of every tenant"),
    Permission.DECIDE: _lazy("decide about requests"),
    Permission.SEE_AUDIT: _lazy("see the audit trail"),
    Permission.SEE_EXPOSURE: _lazy("see who sees whose devices"),
    Permission.MANAGE_BUDGETS: _lazy("change budgets and quotas"),
    Permission.MANAGE_ADMISSION: _lazy("see and change what admission enforces"),
    Permission.MANAGE_POLICY: _lazy("change the policy"),
    Permission.SEE_METRICS: _lazy("read the portal's metrics"),
    Permission.MANAGE_PEOPLE: _lazy("manage people and teams"),
    Permission.MANAGE_PRESETS: _lazy("manage presets"),
}


def requires(permission: Permission) -> Callable[[View], View]:
    """Answer 403, in words, to whoever lacks `permission`; for sync and async views."""

    def decorate(view: View) -> View:
        @wraps(view)
        async def call_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            _check(await request.auser(), permission)
            return await view(request, *args, **kwargs)

        @wraps(view)
        def call(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            _check(request.user, permission)
            return view(request, *args, **kwargs)

        return cast("View", call_async if iscoroutinefunction(view) else call)

    return decorate


def _check(user: User | AnonymousUser, permission: Permission) -> None:
    if not user.is_authenticated or not user.may(permission):
        raise PermissionDenied(
            _("This account lacks the right to %(what)s.") % {"what": WORDS[permission]}
        )
