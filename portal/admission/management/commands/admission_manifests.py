"""`manage.py admission_manifests`: what to install in a cluster, as YAML."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from claims.services.yaml_text import dump
from portal.admission.domain.manifests import Address, manifests
from portal.admission.queries.rules import rules_in_force
from portal.admission.services.certificates import ca_bundle
from portal.core.commands import PortalCommand

HEADER = """\
# What Slicewise installs in a cluster for admission; docs/admission.md says how.
#
#   manage.py admission_manifests --ca-bundle | kubectl apply -f -
#
# This file is what it prints with the rules that Slicewise begins with, and without a
# caBundle: `manage.py admission_certificates --patch CLUSTER` puts it in.
"""


class Command(PortalCommand):
    """Print webhook configurations, the policy and its binding."""

    help = (
        "Print the manifests of the admission webhooks and of the policy beside them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take where we are, and what is allowed where."""
        parser.add_argument("--cluster", default="", help="its name in the portal")
        parser.add_argument(
            "--service", default=Address.__dataclass_fields__["service"].default
        )
        parser.add_argument("--namespace", default="slicewise")
        parser.add_argument("--port", type=int, default=443)
        parser.add_argument("--url", default="", help="in the place of a Service")
        parser.add_argument(
            "--admin-namespace",
            action="append",
            default=[],
            metavar="NAMESPACE",
            help="where adminAccess may be had at all; repeat it",
        )
        parser.add_argument(
            "--pods", action="store_true", help="judge pods with extended resources too"
        )
        parser.add_argument(
            "--ca-bundle", action="store_true", help="with the authorities of now in it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print them."""
        bundle = ca_bundle(now=timezone.now()) if options["ca_bundle"] else ""
        address = Address(
            options["service"],
            options["namespace"],
            options["port"],
            options["url"],
            options["cluster"],
            bundle,
        )
        objects = manifests(
            rules_in_force(),
            address,
            pods=options["pods"],
            admin_namespaces=options["admin_namespace"],
        )
        self.stdout.write(HEADER + "".join(f"---\n{dump(each)}" for each in objects))
