"""What the composer's tests share: a cluster of mixed fleets, and forms as posted."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse


class Composer:
    """The composer as a browser without script: the form's own fields are posted."""

    def __init__(self, client, cluster):
        self.client = client
        self.url = reverse("claims:compose", args=[cluster.name])
        self.fields = {}

    def open(self, preset=""):
        return self._kept(
            self.client.get(self.url, {"preset": preset} if preset else {})
        )

    def press(self, action, path="", headers=None, **changes):
        fields = {**self.fields, **changes, "action": action}
        return self._kept(self.client.post(self.url + path, fields, headers=headers))

    def _kept(self, response):
        if (
            response.status_code in (200, 422, 503)
            and b'id="composer"' in response.content
        ):
            self.fields = fields_of(response.content.decode())
        return response


def fields_of(page):
    """Return what a browser would send of the form #composer."""
    form = page[page.index('id="composer"') :]
    form = form[: form.index("</form>")]
    fields = {}
    for tag in re.findall(r"<input\b[^>]*>", form):
        attributes = _attributes(tag)
        box = attributes.get("type") in ("checkbox", "radio")
        if "name" in attributes and (not box or "checked" in attributes):
            fields.setdefault(attributes["name"], []).append(
                attributes.get("value", "")
            )
    for opening, body in re.findall(
        r"(<textarea\b[^>]*>)\n?(.*?)</textarea>", form, re.DOTALL
    ):
        attributes = _attributes(opening)
        if "form" not in attributes:
            fields[attributes["name"]] = [html.unescape(body)]
    for opening, body in re.findall(
        r"(<select\b[^>]*>)(.*?)</select>", form, re.DOTALL
    ):
        options = re.findall(r"(<option\b[^>]*>)([^<]*)", body)
        chosen = next((o for o in options if " selected" in o[0]), options[0])
        value = _attributes(chosen[0]).get("value", html.unescape(chosen[1]))
        fields[_attributes(opening)["name"]] = [value]
    fields.pop("csrfmiddlewaretoken", None)
    return fields


def _attributes(tag):
    found = re.findall(r'([\w-]+)(?:="([^"]*)"|=\'([^\']*)\')?', tag)
    return {name: html.unescape(a or b) for name, a, b in found[1:]}


@pytest.fixture
def composer(client, ada, fleet_cluster):
    client.force_login(ada)
    return Composer(client, fleet_cluster)


@pytest.fixture
def text():
    """Return a function that takes the tags out of a page."""

    def strip(response):
        words = re.sub(r"<[^>]+>", " ", response.content.decode())
        return " ".join(html.unescape(words).split())

    return strip
