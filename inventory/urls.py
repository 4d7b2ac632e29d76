"""Addresses of the inventory."""

from __future__ import annotations

from django.urls import path

from inventory.views import catalogue, clusters, devices, fleet, gpus, history

app_name = "inventory"
urlpatterns = [
    path("", fleet.home, name="home"),
    path("c/<str:cluster>/", fleet.overview, name="overview"),
    path("c/<str:cluster>/gpus/", gpus.gpu_list, name="gpu-list"),
    path("c/<str:cluster>/gpus.csv", gpus.gpu_csv, name="gpu-csv"),
    path("c/<str:cluster>/gpus/views/", gpus.view_save, name="view-save"),
    path(
        "c/<str:cluster>/gpus/views/<int:pk>/remove/",
        gpus.view_remove,
        name="view-remove",
    ),
    path("c/<str:cluster>/devices/", devices.device_list, name="device-list"),
    path(
        "c/<str:cluster>/devices/<str:driver>/<path:pool>/<str:name>/",
        devices.device_detail,
        name="device-detail",
    ),
    path("c/<str:cluster>/pools/", catalogue.pool_list, name="pool-list"),
    path(
        "c/<str:cluster>/pools/<str:driver>/<path:pool>/",
        catalogue.pool_detail,
        name="pool-detail",
    ),
    path("c/<str:cluster>/classes/", catalogue.class_list, name="class-list"),
    path("c/<str:cluster>/domains/", catalogue.domain_list, name="domain-list"),
    path("c/<str:cluster>/history/", history.history, name="history"),
    path("c/<str:cluster>/history.csv", history.history_csv, name="history-csv"),
    path("clusters/", clusters.cluster_list, name="cluster-list"),
    path(
        "clusters/<str:cluster>/prometheus/",
        clusters.prometheus_set,
        name="prometheus-set",
    ),
]
