"""Addresses of budgets and quotas."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "budgets"
urlpatterns: list[URLPattern] = []
