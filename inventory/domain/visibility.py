"""Who may see whose names: a claim's holder is named, or is only "in use"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person looking at one cluster."""

    # The namespaces of that cluster that belong to their tenants.
    namespaces: frozenset[str]
    sees_everyone: bool = False

    def owns(self, namespace: str) -> bool:
        """Return whether a namespace is one of this person's."""
        return namespace in self.namespaces

    def sees(self, namespace: str) -> bool:
        """Return whether names in a namespace may be shown to this person."""
        return self.sees_everyone or namespace in self.namespaces
