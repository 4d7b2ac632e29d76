"""The advisor asked, with a cache by content and a breaker that spares a broken one."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings

from portal.admission.domain.advice import (
    Advice,
    AdvisorMode,
    Malformed,
    Thresholds,
    read_advice,
)
from portal.admission.domain.questions import QUESTIONS
from portal.admission.gateways.advisor import AdvisorFault, Server, ask
from portal.admission.queries.rules import advisor_setting
from portal.core.cache_by_content import ContentCache, content_key
from portal.core.counting import count

if TYPE_CHECKING:
    from datetime import datetime

    from portal.admission.models import AdvisorSetting

Json = dict[str, Any]

FRESH = timedelta(days=30)
ANSWER_SECONDS = 30.0
CALLS = "slicewise_advisor_calls_total"


class Breaker:
    """Opens after some failures in a row; lets one call through after a while."""

    def __init__(self, *, failures: int = 3, seconds: float = 30.0) -> None:
        self.failures = failures
        self.seconds = seconds
        self._count = 0
        self._open_until = 0.0
        self._lock = threading.Lock()

    def may_try(self) -> bool:
        """Return whether to call; of those that come after a while, only one may."""
        with self._lock:
            if self._count < self.failures:
                return True
            if time.monotonic() < self._open_until:
                return False
            self._open_until = time.monotonic() + self.seconds
            return True

    def succeeded(self) -> None:
        """Close."""
        with self._lock:
            self._count = 0

    def failed(self) -> None:
        """Count a failure; open when there were enough."""
        with self._lock:
            self._count += 1
            if self._count >= self.failures:
                self._open_until = time.monotonic() + self.seconds


breaker = Breaker()
_answers: ContentCache[Advice] = ContentCache(seconds=ANSWER_SECONDS, most=2_000)


def forget() -> None:
    """Forget answers and failures, in this process."""
    _answers.clear()
    breaker.succeeded()


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the advisor is trusted now, and why not further."""

    mode: AdvisorMode
    thresholds: Thresholds
    held_back: str = ""


def trust(*, now: datetime) -> Trust:
    """Return the mode and thresholds that count: enforce only with a fresh calibration."""
    setting = advisor_setting()
    mode = AdvisorMode(setting.mode)
    if mode is not AdvisorMode.OFF and not settings.SLICEWISE_ADVISOR_URL:
        return Trust(AdvisorMode.OFF, setting.thresholds, "advisor.no_url")
    if mode is AdvisorMode.ENFORCE and (why := not_enforceable(setting, now=now)):
        return Trust(AdvisorMode.SHADOW, setting.thresholds, why)
    return Trust(mode, setting.thresholds)


def not_enforceable(setting: AdvisorSetting, *, now: datetime) -> str:
    """Return why thresholds may not be enforced, as a code, or ""."""
    calibration = setting.calibration
    if calibration is None:
        return "advisor.uncalibrated"
    if calibration.thresholds != setting.thresholds:
        return "advisor.other_thresholds"
    if calibration.made_at < now - FRESH:
        return "advisor.stale"
    if calibration.document.get("model") != settings.SLICEWISE_ADVISOR_MODEL:
        return "advisor.other_model"
    return ""


def advice_on(state: Json) -> Advice:
    """Return what the advisor says of a state, kept by content for half a minute.

    Raises:
        AdvisorFault: It gave no answer that can be used, or is being spared.
    """
    server = Server(
        settings.SLICEWISE_ADVISOR_URL,
        settings.SLICEWISE_ADVISOR_KEY,
        settings.SLICEWISE_ADVISOR_MODEL,
    )
    language = settings.SLICEWISE_ADVISOR_LANGUAGE
    key = content_key([server.url, server.model, language, state])
    kept = _answers.find(key)
    if kept is not None:
        return kept
    if not breaker.may_try():
        count(CALLS, answer="spared")
        raise AdvisorFault("it failed several times in a row and is left alone")
    try:
        advice = read_advice(ask(server, state, QUESTIONS[language]))
    except (AdvisorFault, Malformed) as error:
        breaker.failed()
        count(CALLS, answer="none")
        raise AdvisorFault(str(error)[:200]) from error
    breaker.succeeded()
    count(CALLS, answer="sound")
    _answers.keep(key, advice)
    return advice
