"""Signing in by a provider, as a browser walks it: there, back, and to the page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import sync_playwright

from portal.accounts.models import GroupMapping, User
from tests.browser.conftest import FLAGS, chromium
from tests.integration.signing.conftest import (  # noqa: F401  fixtures
    provider,
    provider_process,
)


def walk(address, sub):
    """Sign in as somebody of the provider's; return where one lands, and the text."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium(), args=FLAGS)
        context = browser.new_context(locale="en-GB")
        # The provider's page asks the internet for its style.
        context.route("**/*jsdelivr*/**", lambda route: route.abort())
        page = context.new_page()
        page.goto(f"{address}/tokens/")
        page.get_by_role("link", name="Sign in with single sign-on").click()
        page.wait_for_selector("input[name=sub]")
        page.fill("input[name=sub]", sub)
        page.locator("input[name=sub]").press("Enter")
        page.wait_for_url(f"{address}/**")
        page.wait_for_selector("main h1")
        landed, text = page.url, page.inner_text("body")
        browser.close()
    return landed, text


@pytest.mark.django_db(transaction=True)
def test_a_browser_signs_in_by_the_provider(provider, live_server):  # noqa: F811
    GroupMapping.objects.create(group="gpu-approvers", role="approver")
    provider.has("s-7", email="zoe@lotus", groups=["gpu-approvers"])

    # In a thread of its own, whose event loop is none of the database's.
    with ThreadPoolExecutor(1) as pool:
        landed, text = pool.submit(walk, live_server.url, "s-7").result()

    assert landed == f"{live_server.url}/tokens/"
    assert "zoe@lotus" in text
    assert User.objects.get(username="zoe@lotus").roles == ["approver"]
