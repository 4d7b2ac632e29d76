"""Clusters, nodes, pools, devices, cards, classes and sums over REST."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample

from inventory.api import documents, parameters, serializers
from inventory.api.base import ClusterView, reading
from inventory.api.searching import search_of
from inventory.queries import fleet
from inventory.queries.card_list import card_page
from inventory.queries.cards import fleet_of
from inventory.queries.classes import class_rows
from inventory.queries.clusters import cluster_row, cluster_rows, owners_of
from inventory.queries.device_search import search_page
from inventory.queries.devices import device_row_of
from inventory.queries.gpu_filter import Reach
from inventory.queries.meters import MeterPage, meters_of
from inventory.queries.nodes import node_page
from inventory.queries.pools import PoolFilter, pool_keyset
from inventory.queries.rows import card_row, placement_rows
from inventory.services.availability import ClassUse, class_uses
from inventory.services.metering import set_prometheus
from inventory.services.reach import reach_of
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.matching import ETAG, demand_match, tag_of
from portal.api.operations import Operation, PageParameters
from portal.api.problems import ApiProblem, error_at
from portal.api.views import ApiView
from portal.core.keyset import Page, list_page
from portal.core.outward import AddressRefused

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

Json = dict[str, Any]


PROMETHEUS_EXAMPLE = OpenApiExample(
    "Prometheus of the monitoring namespace",
    request_only=True,
    value={"prometheusUrl": "http://192.0.2.7:9090"},
)


class ClusterList(ApiView):
    """Every cluster."""

    operations = {
        "GET": reading(
            id="listClusters",
            summary="List the clusters and how fresh their pictures are",
            answer=serializers.Cluster,
            query=PageParameters,
            listed=True,
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of clusters by name."""
        page = list_page(
            cluster_rows(), lambda row: (row.cluster.name,), (str,), **self.wanted
        )
        return self.page(page, documents.cluster_document)


class ClusterDetail(ClusterView):
    """One cluster."""

    operations = {
        "GET": reading(
            id="getCluster",
            summary="Say how fresh a cluster's picture is",
            answer=serializers.Cluster,
            headers=ETAG,
        ),
        "PATCH": Operation(
            id="setCluster",
            summary="Set where a cluster's Prometheus is",
            description="An empty address is none. It must be http or https, and may"
            " not lead to loopback, link-local or metadata addresses.",
            tag="inventory",
            scope=Scope.INVENTORY_WRITE,
            permission=Permission.MANAGE_CLUSTERS,
            body=serializers.ClusterBody,
            answer=serializers.Cluster,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(422,),
            examples=(PROMETHEUS_EXAMPLE,),
        ),
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the cluster."""
        return self._shown(self.cluster())

    def patch(self, request: Request, cluster: str) -> Response:
        """Set what the body names; returns the cluster."""
        found, body = self.cluster(), self.body()
        demand_match(request, _cluster_etag(found))
        try:
            set_prometheus(found, body["prometheusUrl"])
        except AddressRefused as error:
            status = 422 if error.permanent else 503
            place = error_at("pointer", "#/prometheusUrl", error.code, error.message)
            raise ApiProblem(
                status, error.code, error.message, errors=[place]
            ) from error
        return self._shown(found)

    def _shown(self, found: Cluster) -> Response:
        document = documents.cluster_document(cluster_row(found))
        return self.answer(document, headers={"ETag": _cluster_etag(found)})


def _cluster_etag(row: Cluster) -> str:
    # What people set of it; what the watcher finds changes all the time.
    return tag_of(row.pk, row.prometheus_url)


class NodeList(ClusterView):
    """The nodes of a cluster."""

    operations = {
        "GET": reading(
            id="listNodes",
            summary="List the nodes with the sums of their cards",
            answer=serializers.Node,
            query=parameters.NodeParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of nodes by name."""
        text = self.wanted.pop("q")
        page = node_page(self.cluster(), text=text, **self.wanted)
        return self.page(page, documents.node_document)


class PoolList(ClusterView):
    """The pools of a cluster."""

    operations = {
        "GET": reading(
            id="listPools",
            summary="List the pools and whether each can be used",
            answer=serializers.Pool,
            query=parameters.PoolParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of pools by driver and name."""
        wanted = self.wanted
        found = PoolFilter(
            wanted["q"], wanted["driver"], wanted["node"], wanted["verdict"]
        )
        page = pool_keyset(
            self.cluster(), found, cursor=wanted["cursor"], limit=wanted["limit"]
        )
        return self.page(page, documents.pool_document)


class DeviceList(ClusterView):
    """The devices of a cluster."""

    operations = {
        "GET": reading(
            id="listDevices",
            summary="List the devices, by value, attribute or CEL selector",
            description="With `cel`, a selector that does not compile answers 422 with"
            " line and column.",
            answer=serializers.Device,
            query=parameters.DeviceParameters,
            listed=True,
            problems=(422,),
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of devices by driver, pool and name."""
        found, wanted = self.cluster(), self.wanted
        page = search_page(
            found,
            self.viewer(),
            search_of(found, wanted),
            cursor=wanted["cursor"],
            limit=wanted["limit"],
        )
        return self.page(page, documents.device_document)


class DeviceDetail(ClusterView):
    """One device."""

    operations = {
        "GET": reading(
            id="getDevice",
            summary="Say everything of a device",
            answer=serializers.Device,
        )
    }

    def get(
        self, request: Request, cluster: str, driver: str, pool: str, name: str
    ) -> Response:
        """Return the device."""
        row = device_row_of(self.cluster(), self.viewer(), (driver, pool, name))
        if row is None:
            raise Http404(
                _("No slice publishes the device %(id)s now.")
                % {"id": f"{driver}/{pool}/{name}"}
            )
        return self.answer(documents.device_document(row))


class CardList(ClusterView):
    """The cards of a cluster."""

    meters: MeterPage | None

    operations = {
        "GET": reading(
            id="listCards",
            summary="List the GPU cards, each once, with what is taken of it",
            answer=serializers.Card,
            query=parameters.CardParameters,
            listed=True,
            problems=(422,),
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of cards by node, driver, pool and name."""
        wanted, viewer, found = self.wanted, self.viewer(), self.cluster()
        self.meters = meters_of(found, timezone.now())
        page = card_page(
            found,
            viewer,
            parameters.card_filter_of(wanted),
            self._reach(found, viewer, wanted["deviceClass"]),
            cursor=wanted["cursor"],
            limit=wanted["limit"],
        )
        return self.page(page, partial(self._document, viewer))

    def _reach(self, cluster: Cluster, viewer: Viewer, device_class: str) -> Reach:
        """Return what class and tenant mean; asks only where one is wanted.

        Raises:
            ApiProblem: 422 where what the class selects is not known.
        """
        if not device_class and not self.wanted["tenant"]:
            return Reach()
        rows = class_rows(cluster) if device_class else []
        reach, problem = reach_of(cluster, viewer, device_class, rows)
        if problem:
            place = error_at("parameter", "deviceClass", "class.unknown", problem)
            raise ApiProblem(422, "class.unknown", problem, errors=[place])
        return reach

    def _document(self, viewer: Viewer, occupancy: Occupancy) -> Json:
        return documents.card_document(
            occupancy.card.node,
            card_row(occupancy, viewer, self.meters),
            placement_rows(occupancy, viewer) if self.wanted["placements"] else [],
        )


class ClassList(ClusterView):
    """The DeviceClasses of a cluster."""

    operations = {
        "GET": reading(
            id="listClasses",
            summary="List the DeviceClasses with what each matches and what is free",
            description="Counts are null where the engine cannot say, with a problem.",
            answer=serializers.DeviceClass,
            query=PageParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of classes by name."""
        found = self.cluster()
        page = list_page(
            class_rows(found), lambda row: (row.facts.name,), (str,), **self.wanted
        )
        uses: list[ClassUse] = class_uses(found, fleet_of(found), page.items)
        return self.page(Page(uses, page.following), documents.class_document)


class OccupancyDetail(ClusterView):
    """The sums of a cluster."""

    operations = {
        "GET": reading(
            id="getOccupancy",
            summary="Sum up a cluster's cards, by product and tenant",
            answer=serializers.Occupancy,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the sums."""
        found = self.cluster()
        return self.answer(
            documents.occupancy_document(
                fleet.overview(
                    found,
                    self.viewer(),
                    owners_of(cluster),
                    meters_of(found, timezone.now()),
                )
            )
        )


class FragmentationDetail(ClusterView):
    """How broken up a cluster's memory is."""

    operations = {
        "GET": reading(
            id="getFragmentation",
            summary="Say what can be had in one piece, by product and by pool",
            description="`listClasses` says the same of each class.",
            answer=serializers.FleetFragmentation,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the fragmentation."""
        return self.answer(documents.fleet_fragmentation(fleet_of(self.cluster())))
