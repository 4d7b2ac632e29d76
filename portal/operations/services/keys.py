"""Every secret that is kept encrypted: can it be read, and with the newest key?

A column whose name ends with `_encrypted` holds one, whichever model it is of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.apps import apps

from portal.core.secrets import SecretUnreadable, decrypt, is_newest, rotate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import Model

SUFFIX = "_encrypted"


@dataclass(frozen=True, slots=True)
class Stored:
    """One secret in the database."""

    model: type[Model]
    pk: Any
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.model._meta.label} {self.pk} {self.field}"


@dataclass(slots=True)
class Rotated:
    """What a rotation did: counts, and the names of what no key opens."""

    changed: int = 0
    newest: int = 0
    unreadable: list[str] | None = None


def stored_secrets() -> Iterator[Stored]:
    """Yield every secret that is kept, and is not empty."""
    for model in apps.get_models():
        names = [f.name for f in model._meta.get_fields() if f.name.endswith(SUFFIX)]
        for name in names:
            rows = model._default_manager.exclude(**{name: ""}).order_by("pk")
            for pk, text in rows.values_list("pk", name):
                yield Stored(model, pk, name, text)


def unreadable() -> list[str]:
    """Return which secrets no known key opens."""
    return [str(each) for each in stored_secrets() if not _opens(each.text)]


def _opens(text: str) -> bool:
    try:
        decrypt(text)
    except SecretUnreadable:
        return False
    return True


def rotate_all() -> Rotated:
    """Encrypt every secret with the newest key; what changes meanwhile is left alone."""
    done = Rotated(unreadable=[])
    for each in list(stored_secrets()):
        if is_newest(each.text):
            done.newest += 1
        elif not _opens(each.text):
            done.unreadable = [*(done.unreadable or []), str(each)]
        else:
            done.changed += _replace(each)
    return done


def _replace(each: Stored) -> int:
    rows = each.model._default_manager.filter(pk=each.pk, **{each.field: each.text})
    return rows.update(**{each.field: rotate(each.text)})
