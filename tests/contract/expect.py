"""What tests expect of an answer, as functions that fail the test when it differs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.client import Client, Object, Refused, path_of


def refusal(call: Any, *args: Any, **kwargs: Any) -> Refused:
    """Return why the server refuses a call."""
    with pytest.raises(Refused) as refused:
        call(*args, **kwargs)
    return refused.value


def invalid(client: Client, manifest: Object) -> Refused:
    """Return why the server calls a manifest invalid; nothing is stored either way."""
    refused = refusal(client.create, manifest, dryRun="All", fieldValidation="Strict")
    assert (refused.code, refused.reason) == (422, "Invalid")
    return refused


def forbidden(call: Any, *args: Any, **kwargs: Any) -> str:
    """Return the sentence with which the server forbids a call."""
    refused = refusal(call, *args, **kwargs)
    assert (refused.code, refused.reason) == (403, "Forbidden")
    return refused.message


def is_stored(admin: Client, manifest: Object) -> bool:
    """Return whether the object that a manifest names is there."""
    metadata = manifest["metadata"]
    path = path_of(manifest["kind"], metadata.get("namespace"), metadata["name"])
    return admin.request("GET", path).is_success
