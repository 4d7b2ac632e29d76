"""Addresses of the inventory below /api/v1/."""

from __future__ import annotations

from django.urls import path

from inventory.api import streams, views

C = "clusters/<str:cluster>"
urlpatterns = [
    path("clusters", views.ClusterList.as_view(), name="cluster-list"),
    path(C, views.ClusterDetail.as_view(), name="cluster-detail"),
    path(f"{C}/nodes", views.NodeList.as_view(), name="node-list"),
    path(f"{C}/pools", views.PoolList.as_view(), name="pool-list"),
    path(f"{C}/devices", views.DeviceList.as_view(), name="device-list"),
    path(f"{C}/devices.ndjson", streams.DeviceNdjson.as_view(), name="device-ndjson"),
    path(f"{C}/devices.csv", streams.DeviceCsv.as_view(), name="device-csv"),
    path(
        f"{C}/devices/<str:driver>/<path:pool>/<str:name>",
        views.DeviceDetail.as_view(),
        name="device-detail",
    ),
    path(f"{C}/cards", views.CardList.as_view(), name="card-list"),
    path(f"{C}/classes", views.ClassList.as_view(), name="class-list"),
    path(f"{C}/occupancy", views.OccupancyDetail.as_view(), name="occupancy"),
]
