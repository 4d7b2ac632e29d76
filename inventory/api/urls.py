"""Addresses of the inventory below /api/v1/."""

from __future__ import annotations

from django.urls import path

from inventory.api import details, history, saved, streams, views

C = "clusters/<str:cluster>"
urlpatterns = [
    path("clusters", views.ClusterList.as_view(), name="cluster-list"),
    path(C, views.ClusterDetail.as_view(), name="cluster-detail"),
    path(f"{C}/nodes", views.NodeList.as_view(), name="node-list"),
    path(f"{C}/pools", views.PoolList.as_view(), name="pool-list"),
    path(
        f"{C}/pools/<str:driver>/<path:pool>",
        details.PoolDetail.as_view(),
        name="pool-detail",
    ),
    path(f"{C}/devices", views.DeviceList.as_view(), name="device-list"),
    path(f"{C}/devices.ndjson", streams.DeviceNdjson.as_view(), name="device-ndjson"),
    path(f"{C}/devices.csv", streams.DeviceCsv.as_view(), name="device-csv"),
    path(
        f"{C}/devices/<str:driver>/<path:pool>/<str:name>",
        views.DeviceDetail.as_view(),
        name="device-detail",
    ),
    path(f"{C}/cards", views.CardList.as_view(), name="card-list"),
    path(
        f"{C}/cards/<str:driver>/<path:pool>/<str:name>",
        details.CardDetail.as_view(),
        name="card-detail",
    ),
    path(f"{C}/classes", views.ClassList.as_view(), name="class-list"),
    path(f"{C}/classes/<str:name>", details.ClassDetail.as_view(), name="class-detail"),
    path(f"{C}/compute-domains", details.DomainList.as_view(), name="domain-list"),
    path(f"{C}/attributes", details.AttributeList.as_view(), name="attribute-list"),
    path(f"{C}/occupancy", views.OccupancyDetail.as_view(), name="occupancy"),
    path(
        f"{C}/fragmentation", views.FragmentationDetail.as_view(), name="fragmentation"
    ),
    path(f"{C}/history", history.HistoryList.as_view(), name="history"),
    path(f"{C}/history.csv", history.HistoryCsv.as_view(), name="history-csv"),
    path("saved-views", saved.SavedViewList.as_view(), name="view-list"),
    path("saved-views/<int:view>", saved.SavedViewDetail.as_view(), name="view-detail"),
]
