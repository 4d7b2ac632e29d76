"""Whom a deployment speaks to, asked once: does each answer, from here?"""

from __future__ import annotations

import smtplib
from typing import TYPE_CHECKING

import httpx
from django.conf import settings
from django.core.mail import get_connection

from inventory.domain.engine import minor_for
from inventory.gateways.errors import KubeError
from inventory.gateways.prometheus import Prometheus
from inventory.models import Cluster
from inventory.services.engines import engine_for
from portal import alive
from portal.accounts import provider
from portal.admission.domain.advice import Malformed, read_advice
from portal.admission.domain.questions import QUESTIONS
from portal.admission.gateways.advisor import AdvisorFault, Server, ask
from portal.admission.services.installing import CONFIGURATIONS, untold_in
from portal.core.errors import PortalError
from portal.operations.services.findings import no, unknown, yes

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from portal.operations.services.findings import Finding

SECONDS = 5.0
PROBE = 'device.driver == "gpu.example.com"'
EMPTY: dict[str, object] = {"cluster_resource_slices": {}, "incoming_claim_spec": {}}


def web() -> Iterator[Finding]:
    """Ask a web process whether it reaches Postgres: this host's, or as people reach it."""
    status, _why = alive.verdict(alive.WEB)
    address = f"{settings.SLICEWISE_PUBLIC_URL}/readyz"
    if not status:
        yield yes("web", "It is alive on this host.")
    elif not settings.SLICEWISE_PUBLIC_URL:
        advice = "Set SLICEWISE_PUBLIC_URL, and it is asked as people reach it."
        yield unknown("web", "None is on this host.", advice)
    else:
        try:
            code = httpx.get(address, timeout=SECONDS).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            advice = "See that it runs, and whether this host may reach that address."
            yield unknown("web", f"{address} is not reached: {error}", advice)
            return
        if code == httpx.codes.OK:
            yield yes("web", f"{address} answers.")
        else:
            advice = "See web's log and the proxy's; docs/admin.md, “Behind a proxy”."
            yield no("web", f"{address} answers {code}.", advice)


def engines() -> Iterator[Finding]:
    """Have the engine of each cluster's minor judge an expression; it may be started."""
    rows = Cluster.objects.order_by("name")
    minors = {minor_for(each.kubernetes_version)[0]: each for each in rows}
    for minor, cluster in sorted(minors.items()):
        name = f"engine {minor}"
        try:
            (judged,) = engine_for(cluster).check([PROBE])
        except PortalError as error:
            advice = f"See {settings.SLICEWISE_RUN_DIR}/engine-{minor}.log."
            yield no(name, error.message, advice)
            continue
        if judged.apiserver.ok and judged.scheduler.ok:
            yield yes(name, "It judges an expression.")
        else:
            advice = "Build it anew: python engine/build.py --versions all."
            yield no(name, f"It refuses {PROBE}, which is right.", advice)


def webhooks(now: dt.datetime) -> Iterator[Finding]:
    """Look whether each cluster's webhook configurations trust our certificates."""
    if not settings.SLICEWISE_ADMISSION:
        yield yes("webhooks", "None is needed: admission is switched off.")
        return
    for cluster in Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).order_by("name"):
        name = f"webhooks of {cluster.name}"
        try:
            installed, untold = untold_in(cluster, now=now)
        except (KubeError, PortalError) as error:
            advice = "Apply deploy/rbac.yaml there, which lets them be read."
            yield unknown(name, str(error), advice)
            continue
        if untold:
            found = f"These do not trust our certificate: {', '.join(untold)}."
            yield no(name, found, "Run manage.py admission_certificates.")
        elif len(installed) < len(CONFIGURATIONS):
            found = f"Installed there: {', '.join(installed) or 'none'}."
            advice = "See docs/admission.md, if claims are to be reviewed there."
            yield unknown(name, found, advice)
        else:
            yield yes(name, "They trust our certificate.")


def meters() -> Iterator[Finding]:
    """Ask each cluster's Prometheus a question whose answer is known."""
    rows = Cluster.objects.exclude(prometheus_url="").order_by("name")
    for cluster in rows:
        name = f"prometheus of {cluster.name}"
        try:
            with Prometheus(cluster.prometheus_url, timeout=SECONDS) as server:
                server.query("vector(1)")
        except PortalError as error:
            advice = "Correct its address on the cluster's page, or let us reach it."
            yield no(name, error.message, advice)
        else:
            yield yes(name, "It answers.")
    if not rows:
        yield yes("prometheus", "No cluster has one: what cards use is not shown.")


def mail() -> Iterator[Finding]:
    """Sign in where e-mail is handed over; none is sent."""
    if not settings.SLICEWISE_EMAIL_URL:
        yield yes("mail", "None is sent: SLICEWISE_EMAIL_URL is empty.")
        return
    link = get_connection()
    try:
        link.open()
        link.close()
    except (smtplib.SMTPException, OSError) as error:
        advice = "Correct SLICEWISE_EMAIL_URL, or let this host reach it."
        yield no("mail", f"{settings.EMAIL_HOST}: {error}", advice)
    else:
        yield yes("mail", f"{settings.EMAIL_HOST} takes e-mail.")


def sign_in() -> Iterator[Finding]:
    """Have the sign-in provider say where it is and what it signs with."""
    issuer = settings.SLICEWISE_OIDC_ISSUER
    if not provider.is_on():
        yield yes("sign-in provider", "There is none: people have passwords here.")
        return
    advice = (
        "Let SLICEWISE_OIDC_ISSUER be the issuer letter for letter; see the log, and"
        " docs/sign-in.md."
    )
    try:
        provider.document(fresh=True)
        signs = provider.keys(fresh=True)
    except PortalError:
        yield no("sign-in provider", f"{issuer} does not answer as one.", advice)
        return
    if signs:
        yield yes("sign-in provider", f"{issuer} answers, with {len(signs)} keys.")
    else:
        yield no("sign-in provider", f"{issuer} has no keys.", advice)


def advisor() -> Iterator[Finding]:
    """Ask the advisor about a claim and a cluster that are empty."""
    url = settings.SLICEWISE_ADVISOR_URL
    if not url:
        yield yes("advisor", "There is none: rules alone decide.")
        return
    questions = QUESTIONS.get(settings.SLICEWISE_ADVISOR_LANGUAGE)
    if questions is None:
        advice = f"Let SLICEWISE_ADVISOR_LANGUAGE be one of {', '.join(QUESTIONS)}."
        yield no("advisor", "It cannot be asked in such a language.", advice)
        return
    server = Server(
        url, settings.SLICEWISE_ADVISOR_KEY, settings.SLICEWISE_ADVISOR_MODEL
    )
    try:
        read_advice(ask(server, EMPTY, questions))
    except (AdvisorFault, Malformed) as error:
        advice = "Correct SLICEWISE_ADVISOR_URL, _KEY or _MODEL; meanwhile rules alone decide."
        yield no("advisor", f"{url}: {error}.", advice)
    else:
        yield yes("advisor", f"{url} answers in time.")
