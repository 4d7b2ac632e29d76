"""Where the portal is and what to sign in with: environment, then a private file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from slicewise_cli.errors import USAGE, CommandError


@dataclass(frozen=True, slots=True)
class Access:
    """An address such as https://slicewise.example.com, and a token."""

    server: str
    token: str


def config_file() -> Path:
    """Return the file that `login` writes."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "slicewise" / "access.json"


def load() -> Access:
    """Return the address and the token.

    Raises:
        CommandError: There are none.
    """
    kept = _kept()
    server = os.environ.get("SLICEWISE_SERVER") or kept.get("server", "")
    token = os.environ.get("SLICEWISE_TOKEN") or kept.get("token", "")
    if not server or not token:
        raise CommandError(
            "Not signed in: run `slicewise login --server ADDRESS`, or set"
            " SLICEWISE_SERVER and SLICEWISE_TOKEN.",
            USAGE,
        )
    return checked(server, token)


def checked(server: str, token: str) -> Access:
    """Return an address and a token that can be sent.

    Raises:
        CommandError: One of them cannot.
    """
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(
            f"{server} is no address: give one such as https://gpus.example.com.",
            USAGE,
        )
    if not token.isascii() or not token.isprintable() or not token:
        raise CommandError("That is no token: copy it whole.", USAGE)
    return Access(server.rstrip("/"), token)


def _kept() -> dict[str, str]:
    path = config_file()
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{path} cannot be read ({error}): run `slicewise login` again.", USAGE
        ) from error
    return found if isinstance(found, dict) else {}


def save(access: Access) -> Path:
    """Keep the address and the token, readable by this person alone.

    Raises:
        CommandError: They cannot be written.
    """
    path = config_file()
    try:
        _write(path, access)
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror}; set SLICEWISE_SERVER and"
            " SLICEWISE_TOKEN instead.",
            USAGE,
        ) from error
    return path


def _write(path: Path, access: Access) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({"server": access.server, "token": access.token})
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
    path.chmod(0o600)
