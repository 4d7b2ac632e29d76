"""One pool, card or class with everything that its page shows, over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.api import detail_documents as documents
from inventory.api import detail_serializers as serializers
from inventory.api import parameters
from inventory.api.base import ClusterView, reading
from inventory.queries.card_detail import card_detail
from inventory.queries.cards import fleet_of
from inventory.queries.class_users import ClassUsers, class_users
from inventory.queries.classes import class_rows
from inventory.queries.domains import compute_domains
from inventory.queries.explorer import keys_seen, values_seen
from inventory.queries.pool_detail import pool_detail
from inventory.services.availability import class_uses
from portal.api.operations import PageParameters
from portal.core.keyset import list_page

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response


class PoolDetail(ClusterView):
    """One pool."""

    operations = {
        "GET": reading(
            id="getPool",
            summary="Say everything of a pool: its slices, and how it was published",
            answer=serializers.PoolDetail,
        )
    }

    def get(self, request: Request, cluster: str, driver: str, pool: str) -> Response:
        """Return the pool."""
        found = pool_detail(self.cluster(), driver, pool, timezone.now())
        if found is None:
            raise Http404(
                _("There is no pool %(id)s now.") % {"id": f"{driver}/{pool}"}
            )
        return self.answer(documents.pool_detail_document(found))


class CardDetail(ClusterView):
    """One card."""

    operations = {
        "GET": reading(
            id="getCard",
            summary="Say everything of a card: who holds what, what fits, its history",
            description="`driver`, `pool` and `name` are those of `listCards`, or of"
            " any device that is a part of the card.",
            answer=serializers.CardDetail,
        )
    }

    def get(
        self, request: Request, cluster: str, driver: str, pool: str, name: str
    ) -> Response:
        """Return the card."""
        now = timezone.now()
        found = card_detail(self.cluster(), self.viewer(), (driver, pool, name), now)
        if found is None:
            raise Http404(
                _("There is no card %(id)s now.") % {"id": f"{driver}/{pool}/{name}"}
            )
        return self.answer(documents.card_detail_document(found))


class ClassDetail(ClusterView):
    """One DeviceClass."""

    operations = {
        "GET": reading(
            id="getClass",
            summary="Say what a DeviceClass matches, with what it clashes, who uses it",
            answer=serializers.DeviceClassDetail,
        )
    }

    def get(self, request: Request, cluster: str, name: str) -> Response:
        """Return the class."""
        found = self.cluster()
        rows = [row for row in class_rows(found) if row.facts.name == name]
        if not rows:
            raise Http404(
                _("There is no class of the name “%(name)s”.") % {"name": name}
            )
        (use,) = class_uses(found, fleet_of(found), rows)
        users = class_users(found, self.viewer()).get(name, ClassUsers())
        return self.answer(documents.class_detail_document(use, users))


class DomainList(ClusterView):
    """The ComputeDomains of a cluster."""

    operations = {
        "GET": reading(
            id="listComputeDomains",
            summary="List the ComputeDomains with members, cliques, channels and daemons",
            description="Those in namespaces whose names you may see.",
            answer=serializers.ComputeDomain,
            query=PageParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of domains by namespace and name."""
        found = compute_domains(self.cluster(), self.viewer())
        page = list_page(
            found.seen, lambda d: (d.namespace, d.name), (str, str), **self.wanted
        )
        return self.page(page, documents.domain_document)


class AttributeList(ClusterView):
    """What devices publish."""

    operations = {
        "GET": reading(
            id="listAttributes",
            summary="List the attributes that devices publish, or the values of one",
            description="Without `key` each item has a key alone; with it, each is a"
            " value of that key, the most frequent 100.",
            answer=serializers.Attribute,
            query=parameters.AttributeParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of keys, or of values."""
        key = self.wanted.pop("key")
        found = self.cluster()
        if key:
            items = [documents.value_document(key, v) for v in values_seen(found, key)]
        else:
            items = [documents.key_document(name) for name in keys_seen(found)]
        page = list_page(
            items,
            lambda item: (-(item["devices"] or 0), item["key"], item["value"] or ""),
            (int, str, str),
            **self.wanted,
        )
        return self.page(page, dict)
