"""What is said of an API server that refuses or is silent, by code.

Rows of other apps keep these codes: see portal/core/sentences.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

SENTENCES: dict[str, _StrPromise] = {
    "cluster.answers": _("%(cluster)s answers: %(said)s. %(advice)s"),
    "cluster.silent": _(
        "%(cluster)s does not answer at %(server)s: %(why)s. Check that its API server"
        " runs and that its kubeconfig is right."
    ),
    "cluster.no_kubernetes": _(
        "%(cluster)s does not answer like a Kubernetes API server. Check the address in"
        " its kubeconfig."
    ),
    "cluster.not_served": _(
        "%(cluster)s does not serve %(kind)s; its numbers are unknown."
    ),
    "cluster.offline": _(
        "%(cluster)s was loaded from files: it has no API server to ask."
    ),
    "cluster.bad_identity.nobody": _("Groups need a user: name whom to act as."),
    "cluster.bad_identity.name": _(
        "%(name)s is not a name to act as: users and groups must not be empty or start"
        " with “system:”."
    ),
    "cluster.bad_identity.text": _(
        "A name to act as must not hold control characters."
    ),
    "cluster.invalid.kind": _("%(kind)s is not a kind that is written here."),
    "cluster.invalid.namespace": _(
        "metadata.namespace is missing: name where it belongs."
    ),
    "cluster.invalid.name": _("%(name)s is no name of an object."),
    "cluster.bad_kubeconfig": _(
        "The kubeconfig cannot be used: %(why)s. Give one that works with kubectl."
    ),
    "cluster.advice.name": _("Choose another name, or remove the object first."),
    "cluster.advice.later": _("Try again; if it stays so, ask who runs it."),
    "cluster.advice.correct": _("Correct what it names and try again."),
    "cluster.advice.credentials": _("Add the cluster again with valid credentials."),
    "cluster.advice.right": _("Ask who runs the cluster for that right."),
    "cluster.advice.look": _("Check the name and the namespace."),
    "cluster.advice.read": _("Read the object again and try once more."),
    "cluster.advice.list": _("Read the list again."),
    "cluster.advice.wait": _("Wait a moment and try again."),
    "cluster.advice.address": _("Check the address in the kubeconfig."),
}
