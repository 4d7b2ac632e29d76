"""System One, asked once: half a second in all, no second try, no thread left behind.

The SDK's own time-out counts each read anew, so a server that drips would hold us;
its client therefore runs in a thread that we wait for only so long: see `Slots` in
`portal.core.deadlines`.

Its address is checked as every address that the portal is given, each time: see
`portal.core.outward`. The SDK resolves the host once more by itself, so that a name
that leads elsewhere a moment later is not seen; only operators can set the address.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from typesafe_sdk import RetryPolicy, TypeSafeClient, TypeSafeError

from portal.core.deadlines import Slots
from portal.core.outward import AddressRefused, check_address

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

SECONDS = 0.5
THREADS = 4
# Where a server takes no key, the SDK still wants one.
NO_KEY = "none"


class AdvisorFault(Exception):
    """The advisor did not answer in time, or not with an answer."""


@dataclass(frozen=True, slots=True)
class Server:
    """A System One server."""

    url: str
    key: str
    model: str


def ask(server: Server, state: Json, questions: Mapping[str, Any]) -> dict[str, Json]:
    """Return each question's answer, decoded and not yet trusted.

    Raises:
        AdvisorFault: There is none within half a second, or its address is not to be
            spoken to.
    """
    try:
        return _asking.run(lambda: _call(server, state, questions), SECONDS)
    except TimeoutError as error:
        raise AdvisorFault(str(error) or f"no answer within {SECONDS:g} s") from error
    except AddressRefused as error:
        raise AdvisorFault(error.message) from error
    except TypeSafeError as error:
        raise AdvisorFault(_first_line(error)) from error
    except Exception as error:
        # Whatever a server can make the SDK stumble over is no answer.
        raise AdvisorFault(type(error).__name__) from error


_asking = Slots(THREADS, "advisor")


def _call(server: Server, state: Json, questions: Mapping[str, Any]) -> dict[str, Json]:
    check_address(server.url)
    answer = _client(server).system_one(state, dict(questions), model=server.model)
    return {name: each.model_dump(mode="json") for name, each in answer.answers.items()}


@lru_cache(maxsize=4)
def _client(server: Server) -> TypeSafeClient:
    return TypeSafeClient(
        api_key=server.key or NO_KEY,
        base_url=server.url,
        model=server.model,
        timeout=SECONDS,
        retry=RetryPolicy(max_retries=0),
        compression=False,
    )


def _first_line(error: TypeSafeError) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:180]
