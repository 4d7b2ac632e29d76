"""Where every address leads; the composition of the apps."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from portal import frame
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.audit.views import trail
from portal.core import views
from portal.metrics.views import metrics

may_audit = requires(Permission.SEE_AUDIT)
audit = [
    path("audit/", may_audit(trail.audit_list), name="audit-list"),
    path("audit.csv", may_audit(trail.audit_csv), name="audit-csv"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("portal.admission.urls")),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path(
        "c/<str:cluster>/events",
        views.events,
        {"newest": frame.revision_of},
        name="events",
    ),
    path("c/<str:cluster>/freshness", frame.freshness, name="freshness"),
    path("api/v1/", include("portal.api_v1")),
    path("", include("portal.accounts.urls")),
    path("", include("portal.notices.urls")),
    path("", include("inventory.urls")),
    path("", include("claims.urls")),
    path("", include("portal.approvals.urls")),
    path("", include("portal.budgets.urls")),
    path("", include("portal.adoption.urls")),
    path("", include((audit, "audit"))),
]
handler400 = "portal.core.views.bad_request"
handler403 = "portal.core.views.permission_denied"
handler404 = "portal.core.views.page_not_found"
handler500 = "portal.core.views.server_error"
