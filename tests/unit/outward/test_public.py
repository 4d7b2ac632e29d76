"""An address that any tenant may name leads into no private network either."""

from __future__ import annotations

import socket

import pytest

from portal.core import outward

PRIVATE = (
    *("10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1"),
    *("fd00::1", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::"),
)


@pytest.fixture
def resolves(monkeypatch):
    """Return a function that says what every host's addresses are."""

    def do(*addresses):
        found = [(0, 0, 0, "", (address, 443)) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)

    return do


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_network_is_refused_where_only_public_ones_will_do(address, resolves):
    resolves("93.184.215.14", address)

    outward.check_address("https://hooks.example.com/x")
    with pytest.raises(outward.AddressRefused, match="SLICEWISE_OUTWARD_ALLOW"):
        outward.check_address("https://hooks.example.com/x", public=True)


def test_it_is_called_where_an_operator_allows_it(resolves, settings):
    settings.SLICEWISE_OUTWARD_ALLOW = ["10.0.0.0/8"]
    resolves("10.1.2.3", "93.184.215.14")

    outward.check_address("https://hooks.example.com/x", public=True)
