"""The base of every anticipated error.

A PortalError carries a stable code and one sentence for a person; the edges
(views, commands, tasks) translate it once. Anything else is a defect.
"""

from __future__ import annotations

from portal.core.sentences import Said


class PortalError(Exception):
    """An error that we expect, with a sentence that says what to do.

    Attributes:
        code: stable, dotted, part of the interface.
        message: one sentence for a person, already in their language.
        said: the same for others to read later, where it was raised as a Said.
        permanent: trying the same again cannot help.
        exit_status: what a command ends with: 2 for usage or input, 3 where the
            engine or the database failed.
    """

    code = "portal.error"
    permanent = True
    exit_status = 2

    def __init__(self, message: str | Said, *, code: str | None = None) -> None:
        self.message = str(message)
        super().__init__(self.message)
        self.said = message if isinstance(message, Said) else None
        if code is not None:
            self.code = code


class FieldRefused(PortalError):
    """What cannot be as it was given; the message says why.

    Attributes:
        field: of the form or the body, or "" for all of it.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field
