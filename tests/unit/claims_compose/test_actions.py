"""What the composer's pages do, the API does: each page and each button has its address."""

from __future__ import annotations

import pytest

from claims import urls
from claims.api.urls import urlpatterns as api
from claims.domain.edits import _VERBS
from claims.views.compose import _ANSWERS

OPERATIONS = {
    (method, pattern.name)
    for pattern in api
    for method in pattern.callback.view_class.operations
}
SUBMIT, CHECK = ("POST", "request-list"), ("POST", "check")
DRAFTS = (("GET", "draft-list"), ("POST", "draft-list"), ("PUT", "draft"))
# A manifest that a program holds is its own: it changes, reads and names it itself.
ITS_OWN: tuple[tuple[str, str], ...] = ()
PAGES = {
    "compose": (SUBMIT, CHECK),
    "compose-availability": (("GET", "availability"),),
    "compose-builder": (("GET", "selector-key-list"), ("POST", "conditions")),
    "compose-cel": (("POST", "cel"),),
    "compose-checks": (CHECK,),
    "compose-domain": (("POST", "domain-preview"), SUBMIT),
    "compose-given": (CHECK,),  # what is asked of a capacity, and what is given
    "compose-keep": DRAFTS,
    "compose-manifest": ITS_OWN,
    "compose-preview": (("POST", "preview"),),
    "compose-snippets": (("POST", "workloads"),),
    "draft-list": DRAFTS,
    "draft-discard": (("DELETE", "draft"),),
    "import": (("POST", "import"),),
    "preset-list": (("GET", "preset-list"), ("GET", "availability")),
    "preset-compose": (("POST", "preset-render"), SUBMIT),
    "preset-room": (("GET", "preset-room"),),
    "preset-catalogue": (("GET", "preset-list"),),
    "preset-new": (("POST", "preset-list"),),
    "preset-edit": (("PUT", "preset"), ("POST", "preset-offer")),
    "template-list": (("GET", "template-list"),),
    "template-detail": (("GET", "template"),),
    "request-list": (("GET", "request-list"),),
    "request-detail": (("GET", "request-detail"), ("GET", "request-usage")),
    "request-release": (("POST", "request-release"),),
    "request-cancel": (("POST", "request-cancel"),),
    "request-retry": (("POST", "request-retry"),),
    "request-snippet": (("GET", "request-workloads"),),
}
BUTTONS = {
    "submit": (SUBMIT,),
    "keep": (("POST", "draft-list"),),
    "take": (("POST", "import"),),
    "edit-yaml": ITS_OWN,
    "builder": (("GET", "selector-key-list"),),
    "build": (("POST", "conditions"),),
    **dict.fromkeys(_VERBS, ITS_OWN),
}
# The demo's own, and Kueue's queue, which is read from the claim.
NOT_THE_COMPOSERS = {"request-pod", "request-queue"}
COMPOSERS = ("compose", "draft", "import", "preset", "template", "request")


def test_every_page_of_the_composer_has_its_address():
    names = {str(pattern.name) for pattern in urls.urlpatterns}
    composing = {name for name in names if name.startswith(COMPOSERS)}
    assert composing - NOT_THE_COMPOSERS == set(PAGES)


def test_every_button_of_the_composer_has_its_address():
    assert set(_ANSWERS) | set(_VERBS) == set(BUTTONS)


@pytest.mark.parametrize("name", [*PAGES, *BUTTONS])
def test_each_address_serves_what_is_done(name):
    assert {*PAGES.get(name, ()), *BUTTONS.get(name, ())} <= OPERATIONS
