"""Who a call to a cluster is made as: always named, never one of the system's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from inventory.gateways.errors import BadIdentity
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a call is made as.

    Attributes:
        user: whom to impersonate; None for the portal's own account.
        groups: the person's groups.
        extra: further facts for admission, such as the request's id.
    """

    user: str | None
    groups: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that impersonate this identity; none for our own.

        Raises:
            BadIdentity: It is empty, of the system's own, or no header's text.
        """
        if self.user is None:
            if self.groups or self.extra:
                raise BadIdentity(Said("cluster.bad_identity.nobody"))
            return []
        pairs = [("Impersonate-User", self.user)]
        pairs += [("Impersonate-Group", group) for group in self.groups]
        for _name, value in pairs:
            _check_name(value)
        pairs += [
            (f"Impersonate-Extra-{quote(key.lower(), safe='')}", value)
            for key, value in self.extra.items()
        ]
        return [(name, _header_text(value)) for name, value in pairs]


AS_ITSELF = Identity(None)
"""The portal's own account: for reading what it watches, never for a person."""


def _check_name(name: str) -> None:
    if not name.strip() or name.strip().lower().startswith("system:"):
        raise BadIdentity(Said("cluster.bad_identity.name", {"name": repr(name)}))


def _header_text(value: str) -> str:
    """Return a value as header text: its UTF-8 bytes, without control characters."""
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise BadIdentity(Said("cluster.bad_identity.text"))
    return value.encode().decode("latin-1")
