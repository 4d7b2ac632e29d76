"""The quick start and the tenant guide, done as they are written."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.guide import follow


def test_the_quick_start_does_what_it_says(page: Page, demo, tmp_path):
    follow(page, demo.address, tmp_path, patience=30_000)
