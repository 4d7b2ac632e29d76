"""Rules and fallbacks, changed by admins: checked, counted in versions, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from portal.admission.domain.fallback import BadFallback, check_alternatives
from portal.admission.domain.guards import (
    BadRule,
    FailurePolicy,
    GuardKind,
    GuardMode,
    check_params,
)
from portal.admission.models import Fallback, GuardCount, GuardRule
from portal.admission.queries.rules import forget
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from datetime import datetime

    from inventory.models import Cluster

Json = dict[str, Any]


class RuleRefused(PortalError):
    """A rule or fallback cannot be stored so."""

    code = "admission.rule_refused"


class RuleMoved(PortalError):
    """Somebody else changed the rule meanwhile."""

    code = "admission.rule_moved"


def make_rule(
    *, name: str, kind: str, fields: Json, by: str, now: datetime
) -> GuardRule:
    """Store a new rule.

    Raises:
        RuleRefused: Its name is taken or none, or its parameters cannot be used.
    """
    row = GuardRule(name=name, kind=GuardKind(kind), changed_by=by, changed_at=now)
    row.mode = GuardMode(fields.get("mode", GuardMode.WARN))
    row.failure_policy = FailurePolicy(
        fields.get("failure_policy", FailurePolicy.IGNORE)
    )
    row.params = _params(row.kind, fields.get("params", {}))
    _check_name(row)
    try:
        with transaction.atomic():
            row.save()
            GuardCount.objects.create(rule=row)
    except IntegrityError as error:
        raise _taken(name) from error
    forget()
    return row


def change_rule(
    row: GuardRule, *, version: int, fields: Json, by: str, now: datetime
) -> GuardRule:
    """Change a rule that is still at a version.

    Raises:
        RuleMoved: It is not any more.
        RuleRefused: Its parameters cannot be used.
    """
    changed: Json = {}
    if "mode" in fields:
        changed["mode"] = GuardMode(fields["mode"])
    if "failure_policy" in fields:
        changed["failure_policy"] = FailurePolicy(fields["failure_policy"])
    if "params" in fields:
        changed["params"] = _params(row.kind, fields["params"])
    done = GuardRule.objects.filter(pk=row.pk, version=version).update(
        **changed, version=version + 1, changed_by=by, changed_at=now
    )
    if not done:
        raise RuleMoved(
            _("The rule “%(name)s” was changed meanwhile: look at it again.")
            % {"name": row.name}
        )
    forget()
    return GuardRule.objects.select_related("count").get(pk=row.pk)


def remove_rule(row: GuardRule) -> None:
    """Remove a rule; what it decided is kept."""
    row.delete()
    forget()


def make_fallback(
    *, name: str, cluster: Cluster | None, fields: Json, by: str, now: datetime
) -> Fallback:
    """Store a new fallback.

    Raises:
        RuleRefused: Its name is taken or none, or its alternatives cannot be used.
    """
    row = Fallback(
        name=name,
        cluster=cluster,
        device_class=fields["device_class"],
        alternatives=_alternatives(fields["alternatives"]),
        namespaces=fields.get("namespaces", []),
        needs_advice=fields.get("needs_advice", True),
        is_enabled=fields.get("is_enabled", True),
        changed_by=by,
        changed_at=now,
    )
    _check_name(row)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise _taken(name) from error
    forget()
    return row


def change_fallback(
    row: Fallback, *, seen: datetime, fields: Json, by: str, now: datetime
) -> Fallback:
    """Change a fallback that nobody has changed since.

    Args:
        row: it.
        seen: its `changed_at`, as whoever changes it saw it.
        fields: what becomes of which column.
        by: who changes it.
        now: the moment.

    Raises:
        RuleMoved: Somebody has.
        RuleRefused: Its alternatives cannot be used.
    """
    changed = dict(fields)
    if "alternatives" in changed:
        changed["alternatives"] = _alternatives(changed["alternatives"])
    done = Fallback.objects.filter(pk=row.pk, changed_at=seen).update(
        **changed, changed_by=by, changed_at=now
    )
    if not done:
        raise RuleMoved(
            _("The fallback “%(name)s” was changed meanwhile: look at it again.")
            % {"name": row.name}
        )
    forget()
    return Fallback.objects.select_related("cluster").get(pk=row.pk)


def _alternatives(value: object) -> list[Json]:
    try:
        return check_alternatives(value)
    except BadFallback as error:
        raise RuleRefused(str(error)) from error


def remove_fallback(row: Fallback) -> None:
    """Remove a fallback; claims that have it keep it."""
    row.delete()
    forget()


def _params(kind: str, params: object) -> Json:
    try:
        return check_params(GuardKind(kind), params)
    except BadRule as error:
        raise RuleRefused(str(error)) from error


def _check_name(row: GuardRule | Fallback) -> None:
    try:
        row.clean_fields(exclude={"params", "alternatives", "namespaces", "cluster"})
    except ValidationError as error:
        raise RuleRefused(
            _("A name is of small letters, digits and dashes, at most 63 of them.")
        ) from error


def _taken(name: str) -> RuleRefused:
    return RuleRefused(
        _("“%(name)s” exists already: choose another name, or change that one.")
        % {"name": name}
    )
