"""Whom a deployment speaks to, asked once: does each answer, from here?"""

from __future__ import annotations

import smtplib
from typing import TYPE_CHECKING

import httpx
from django.conf import settings
from django.core.mail import get_connection
from django.utils.translation import gettext as _

from inventory.domain.engine import minor_for
from inventory.gateways.engine_process import SOURCES
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
        yield yes("web", _("It is alive on this host."))
    elif not settings.SLICEWISE_PUBLIC_URL:
        advice = _("Set SLICEWISE_PUBLIC_URL, and it is asked as people reach it.")
        yield unknown("web", _("None is on this host."), advice)
    else:
        try:
            code = httpx.get(address, timeout=SECONDS).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            advice = _(
                "See that it runs, and whether this host may reach that address."
            )
            yield unknown(
                "web",
                _("%(url)s is not reached: %(why)s"),
                advice,
                url=address,
                why=error,
            )
            return
        if code == httpx.codes.OK:
            yield yes("web", _("%(url)s answers."), url=address)
        else:
            advice = _(
                "See web's log and the proxy's; docs/admin.md, “Behind a proxy”."
            )
            yield no(
                "web", _("%(url)s answers %(code)d."), advice, url=address, code=code
            )


def engines() -> Iterator[Finding]:
    """Have the engine of each cluster's minor judge an expression; it may be started."""
    rows = Cluster.objects.order_by("name")
    minors = {minor_for(each.kubernetes_version)[0]: each for each in rows}
    for minor, cluster in sorted(minors.items()):
        built = (SOURCES / "bin" / f"engine-{minor}").is_file()
        if not (built or settings.SLICEWISE_ENGINES_EXTERNAL):
            continue  # `looking.engines` says so; asking it would build it
        name = f"engine {minor}"
        try:
            (judged,) = engine_for(cluster).check([PROBE])
        except PortalError as error:
            advice = _("See its log, engine-%(minor)s.log in SLICEWISE_RUN_DIR.")
            yield no(name, error.message, advice % {"minor": minor})
            continue
        if judged.apiserver.ok and judged.scheduler.ok:
            yield yes(name, _("It judges an expression."))
        else:
            advice = _("Build it anew: python engine/build.py --versions all.")
            found = _("It refuses %(expression)s, which is right.")
            yield no(name, found, advice, expression=PROBE)


def webhooks(now: dt.datetime) -> Iterator[Finding]:
    """Look whether each cluster's webhook configurations trust our certificates."""
    if not settings.SLICEWISE_ADMISSION:
        yield yes("webhooks", _("None is needed: admission is switched off."))
        return
    for cluster in Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).order_by("name"):
        name = f"webhooks of {cluster.name}"
        try:
            installed, untold = untold_in(cluster, now=now)
        except (KubeError, PortalError) as error:
            advice = _("Apply deploy/rbac.yaml there, which lets them be read.")
            yield unknown(name, str(error), advice)
            continue
        if untold:
            found = _("These do not trust our certificate: %(kinds)s.")
            advice = _("Run manage.py admission_certificates.")
            yield no(name, found, advice, kinds=", ".join(untold))
        elif len(installed) < len(CONFIGURATIONS):
            found = _("Installed there: %(kinds)s.")
            advice = _("See docs/admission.md, if claims are to be reviewed there.")
            kinds = ", ".join(installed) or _("none")
            yield unknown(name, found, advice, kinds=kinds)
        else:
            yield yes(name, _("They trust our certificate."))


def meters() -> Iterator[Finding]:
    """Ask each cluster's Prometheus a question whose answer is known."""
    rows = Cluster.objects.exclude(prometheus_url="").order_by("name")
    for cluster in rows:
        name = f"prometheus of {cluster.name}"
        try:
            with Prometheus(cluster.prometheus_url, timeout=SECONDS) as server:
                server.query("vector(1)")
        except PortalError as error:
            advice = _("Correct its address on the cluster's page, or let us reach it.")
            yield no(name, error.message, advice)
        else:
            yield yes(name, _("It answers."))
    if not rows:
        yield yes("prometheus", _("No cluster has one: what cards use is not shown."))


def mail() -> Iterator[Finding]:
    """Sign in where e-mail is handed over; none is sent."""
    if not settings.SLICEWISE_EMAIL_URL:
        yield yes("mail", _("None is sent: SLICEWISE_EMAIL_URL is empty."))
        return
    link = get_connection()
    try:
        link.open()
        link.close()
    except (smtplib.SMTPException, OSError) as error:
        advice = _("Correct SLICEWISE_EMAIL_URL, or let this host reach it.")
        yield no(
            "mail", "%(host)s: %(why)s", advice, host=settings.EMAIL_HOST, why=error
        )
    else:
        yield yes("mail", _("%(host)s takes e-mail."), host=settings.EMAIL_HOST)


def sign_in() -> Iterator[Finding]:
    """Have the sign-in provider say where it is and what it signs with."""
    issuer = settings.SLICEWISE_OIDC_ISSUER
    if not provider.is_on():
        yield yes("sign-in provider", _("There is none: people have passwords here."))
        return
    advice = _(
        "Let SLICEWISE_OIDC_ISSUER be the issuer letter for letter; see the log, and"
        " docs/sign-in.md."
    )
    try:
        provider.document(fresh=True)
        signs = provider.keys(fresh=True)
    except PortalError:
        yield no(
            "sign-in provider", _("%(url)s does not answer as one."), advice, url=issuer
        )
        return
    if signs:
        yield yes(
            "sign-in provider",
            _("%(url)s answers; keys: %(count)d."),
            url=issuer,
            count=len(signs),
        )
    else:
        yield no("sign-in provider", _("%(url)s has no keys."), advice, url=issuer)


def advisor() -> Iterator[Finding]:
    """Ask the advisor about a claim and a cluster that are empty."""
    url = settings.SLICEWISE_ADVISOR_URL
    if not url:
        yield yes("advisor", _("There is none: rules alone decide."))
        return
    questions = QUESTIONS.get(settings.SLICEWISE_ADVISOR_LANGUAGE)
    if questions is None:
        advice = _("Let SLICEWISE_ADVISOR_LANGUAGE be one of %(languages)s.")
        found = _("It cannot be asked in such a language.")
        yield no("advisor", found, advice, languages=", ".join(QUESTIONS))
        return
    server = Server(
        url, settings.SLICEWISE_ADVISOR_KEY, settings.SLICEWISE_ADVISOR_MODEL
    )
    try:
        read_advice(ask(server, EMPTY, questions))
    except (AdvisorFault, Malformed) as error:
        advice = _(
            "Correct SLICEWISE_ADVISOR_URL, _KEY or _MODEL; meanwhile rules alone decide."
        )
        yield no("advisor", "%(url)s: %(why)s.", advice, url=url, why=error)
    else:
        yield yes("advisor", _("%(url)s answers in time."), url=url)
