"""Quotas and budgets: how far each team is, and the forms that change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers

from claims.services.composing import classes_of
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import Tenant, TenantNamespace
from portal.budgets.domain.quotas import hard_of
from portal.budgets.forms import LimitsForm, NewBudgetForm, QuotaForm
from portal.budgets.models import Budget
from portal.budgets.queries.budgets import visible_to
from portal.budgets.queries.quotas import quotas_for
from portal.budgets.services.editing import BudgetRefused, change_budget, make_budget
from portal.budgets.services.ledger import rows_of
from portal.budgets.services.quota_writing import apply_quota, try_quota
from portal.core.errors import PortalError
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from portal.budgets.services.quota_writing import QuotaPlan

SEPARATOR = "|"


@require_GET
@vary_on_headers("HX-Request")
def budget_list(request: PortalRequest) -> HttpResponse:
    """Show the budgets that a person may see, and Kubernetes' own quotas."""
    now = timezone.now()
    context = {
        "nav": "budgets",
        "rows": rows_of(visible_to(request.user), now=now),
        "quotas": quotas_for(request.user),
        "may_change": request.user.may(Permission.MANAGE_BUDGETS),
        "now": now,
    }
    template = fragment("budgets/budget_list.html", "live", request)
    return render(request, template, context)


@requires(Permission.MANAGE_BUDGETS)
@require_http_methods(["GET", "POST"])
def budget_new(request: PortalRequest) -> HttpResponse:
    """Show the form of a new budget, or make it."""
    form = NewBudgetForm(request.POST or None, scopes=_scopes())
    if request.method == "POST" and form.is_valid():
        tenant, cluster, namespace = form.cleaned_data["scope"].split(SEPARATOR)
        try:
            make_budget(
                tenant=tenant,
                cluster=cluster,
                namespace=namespace,
                limits=form.limits,
                user=request.user,
                request_id=request.request_id,
                now=timezone.now(),
            )
        except BudgetRefused as error:
            field = "scope" if error.field == "tenant" else error.field
            form.add_error(field or None, error.message)
        else:
            messages.success(request, _("The budget is in force."))
            return _back()
    context = {"nav": "budgets", "form": form, "budget": None}
    status = 422 if form.is_bound else 200
    return render(request, "budgets/budget_form.html", context, status=status)


@requires(Permission.MANAGE_BUDGETS)
@require_http_methods(["GET", "POST"])
def budget_edit(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show a budget's limits, or set them, unless somebody did so meanwhile."""
    budget = get_object_or_404(visible_to(request.user), public_id=public_id)
    form = LimitsForm(request.POST or None, budget=budget)
    problem = ""
    if request.method == "POST" and form.is_valid():
        try:
            change_budget(
                budget,
                version=form.cleaned_data.get("version") or 0,
                limits=form.limits,
                reason=form.cleaned_data["reason"],
                user=request.user,
                request_id=request.request_id,
                now=timezone.now(),
            )
        except BudgetRefused as error:
            form.add_error(error.field or None, error.message)
        except PortalError as error:
            problem = error.message
        else:
            messages.success(request, _("The budget is in force."))
            return _back()
    [row] = rows_of([budget], now=timezone.now())
    context = {
        "nav": "budgets",
        "form": form,
        "budget": budget,
        "row": row,
        "problem": problem,
    }
    status = 409 if problem else 422 if form.is_bound else 200
    return render(request, "budgets/budget_form.html", context, status=status)


@requires(Permission.MANAGE_BUDGETS)
@require_http_methods(["GET", "POST"])
def budget_quota(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show what a ResourceQuota from a budget would change; write it when told to."""
    budget = get_object_or_404(visible_to(request.user), public_id=public_id)
    spaces = _spaces(budget)
    chosen = request.POST.get("space") or request.GET.get("space", "")
    space = chosen if chosen in dict(spaces) else next(iter(dict(spaces)), "")
    if not space:
        raise Http404(_("The tenant of this budget has no namespace yet."))
    name, _separator, namespace = space.partition(SEPARATOR)
    cluster = get_object_or_404(Cluster, name=name)
    form = QuotaForm(
        request.POST or None,
        spaces=spaces,
        classes=classes_of(cluster),
        initial={"space": space},
    )
    context: dict[str, Any] = {
        "nav": "budgets",
        "budget": budget,
        "form": form,
        "cluster": cluster,
        "namespace": namespace,
    }
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            plan = _carried_out(request, budget, cluster, namespace, form)
        except PortalError as error:
            context["problem"], status = error.message, 409
        else:
            if plan is None:
                return _back()
            context["plan"] = plan
    elif form.is_bound:
        status = 422
    return render(request, "budgets/quota_form.html", context, status=status)


def _carried_out(
    request: PortalRequest,
    budget: Budget,
    cluster: Cluster,
    namespace: str,
    form: QuotaForm,
) -> QuotaPlan | None:
    """Try the quota, or write it where the button said so and return None."""
    hard = hard_of(form.devices, form.cleaned_data.get("claims"))
    if request.POST.get("action") != "apply":
        return try_quota(budget, cluster, namespace, hard, request.user)
    apply_quota(
        budget,
        cluster,
        namespace,
        hard,
        seen=form.cleaned_data["seen"],
        user=request.user,
        request_id=request.request_id,
        now=timezone.now(),
    )
    messages.success(request, _("The quota is in force in the cluster."))
    return None


def _back() -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("budgets:budget-list"))


def _scopes() -> list[tuple[str, str]]:
    """Return what a budget can be over, and how the form calls it."""
    rows = TenantNamespace.objects.order_by("cluster", "namespace")
    spaces = list(rows.values_list("tenant__name", "cluster", "namespace"))
    found: list[tuple[str, str]] = []
    for tenant in Tenant.objects.order_by("name").values_list("name", flat=True):
        found.append((SEPARATOR.join((tenant, "", "")), tenant))
        own = [(cluster, space) for name, cluster, space in spaces if name == tenant]
        for cluster in dict.fromkeys(cluster for cluster, _space in own):
            found.append(
                (SEPARATOR.join((tenant, cluster, "")), f"{tenant} · {cluster}")
            )
            found += [
                (
                    SEPARATOR.join((tenant, cluster, space)),
                    f"{tenant} · {cluster} · {space}",
                )
                for of, space in own
                if of == cluster
            ]
    return found


def _spaces(budget: Budget) -> list[tuple[str, str]]:
    rows = TenantNamespace.objects.filter(tenant=budget.tenant_id)
    known = set(Cluster.objects.values_list("name", flat=True))
    return [
        (f"{cluster}{SEPARATOR}{namespace}", f"{cluster} · {namespace}")
        for cluster, namespace in rows.order_by("cluster", "namespace").values_list(
            "cluster", "namespace"
        )
        if cluster in known and budget.covers(cluster, namespace)
    ]
