"""Calls to addresses that people type in: checked, and held to what was checked.

Whoever may name an address could make the portal speak to what only the portal
reaches: cloud metadata, its own database, a neighbour on loopback. So an address is
http or https to a host all of whose IPs are allowed, and a client connects to the
very IP that was checked, whatever the name resolves to a moment later. Redirects
are not followed and no proxy is used.

`SLICEWISE_OUTWARD_ALLOW` names hosts or networks that are allowed all the same.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

import httpx
from django.conf import settings
from django.utils.translation import gettext as _

from portal.core.deadlines import Slots, TimedTransport
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator

IpAddress = IPv4Address | IPv6Address

LONGEST = 500
# Names are resolved by the system, which cannot be told to stop.
RESOLVE_SECONDS = 5.0
_resolving = Slots(8, "resolving")
# Metadata services that lie outside the link-local range (Alibaba, AWS, Oracle).
_METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "fd00:ec2::254", "192.0.0.192"))
)
_NAT64 = ip_network("64:ff9b::/96")


class AddressRefused(PortalError):
    """An address that the portal does not speak to; the sentence says why."""

    code = "outward.refused"


class AddressUnknown(AddressRefused):
    """A host whose name has no IP now; it may have one later."""

    code = "outward.unknown_host"
    permanent = False


@dataclass(frozen=True, slots=True)
class Target:
    """An address that was checked, and the IP that stands for its host."""

    url: httpx.URL
    ip: str


def check_address(url: str, *, public: bool = False) -> None:
    """Refuse an address that the portal must not speak to; resolves its host.

    Args:
        url: the address, as a person gave it.
        public: a private network is inward, too, as where any tenant may name it.

    Raises:
        AddressRefused: It is no http(s) address, holds a password, or leads to
            loopback, a link-local or a metadata address.
        AddressUnknown: Its host has no IP now.
    """
    target_of(url, public=public)


def outward_client(
    url: str, *, timeout: float, seconds: float, public: bool = False, **more: Any
) -> httpx.Client:
    """Return a client that speaks to one address's host alone, at its checked IP.

    Args:
        url: the address, as a person gave it; relative requests go below it.
        timeout: of each silence, in seconds.
        seconds: that each exchange may take in all, once the host has its IP.
        public: see `check_address`.
        more: further arguments of `httpx.Client`, such as headers.

    Raises:
        AddressRefused: See `check_address`.
    """
    target = target_of(url, public=public)
    return httpx.Client(
        base_url=target.url,
        timeout=timeout,
        transport=_Pinned(target, seconds),
        trust_env=False,
        follow_redirects=False,
        **more,
    )


def target_of(url: str, *, public: bool = False) -> Target:
    """Return a checked address with the IP to connect to.

    Raises:
        AddressRefused: See `check_address`.
    """
    parsed = _parsed(url)
    found = list(dict.fromkeys(_resolved(parsed)))
    for ip in found:
        inward = _is_inward(ip) or (public and not _unwrapped(ip).is_global)
        if inward and not _is_allowed(parsed.host, ip):
            raise AddressRefused(
                _(
                    "%(host)s leads to %(ip)s, which the portal does not speak to; an"
                    " operator can allow it with SLICEWISE_OUTWARD_ALLOW."
                )
                % {"host": parsed.host, "ip": ip}
            )
    return Target(parsed, str(found[0]))


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise _no_address(url) from error
    sound = parsed.scheme in ("http", "https") and 0 < (parsed.port or 80) < 2**16
    if len(url) > LONGEST or not sound or not parsed.host:
        raise _no_address(url)
    if parsed.userinfo or parsed.fragment:
        raise AddressRefused(
            _("Leave user, password and “#…” out of the address: %(host)s is enough.")
            % {"host": f"{parsed.scheme}://{parsed.host}"}
        )
    return parsed


def _no_address(url: str) -> AddressRefused:
    return AddressRefused(
        _(
            "“%(url)s” is no address: write http:// or https://, a host and, where it"
            " needs one, a port."
        )
        % {"url": url[:80]}
    )


def _resolved(url: httpx.URL) -> Iterator[IpAddress]:
    try:
        found = _resolving.run(lambda: _asked(url), RESOLVE_SECONDS)
    except (OSError, UnicodeError) as error:
        raise AddressUnknown(
            _("The host %(host)s is not known: check its spelling.")
            % {"host": url.host}
        ) from error
    for *_rest, place in found:
        yield ip_address(str(place[0]).partition("%")[0])


def _asked(url: httpx.URL) -> list[Any]:
    return socket.getaddrinfo(
        url.host, _port(url), type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )


def _port(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}[url.scheme]


def _is_inward(ip: IpAddress) -> bool:
    """Return whether an IP is this host, its link, a metadata service, or no host."""
    plain = _unwrapped(ip)
    return (
        plain.is_loopback
        or plain.is_link_local
        or plain.is_multicast
        or plain.is_unspecified
        or plain.is_reserved
        or plain in ip_network("0.0.0.0/8")
        or plain in _METADATA
    )


def _unwrapped(ip: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 one stands for, else itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _is_allowed(host: str, ip: IpAddress) -> bool:
    plain = _unwrapped(ip)
    for entry in settings.SLICEWISE_OUTWARD_ALLOW:
        try:
            allowed = plain in ip_network(entry, strict=False)
        except ValueError:
            allowed = entry.lower() == host.lower()
        if allowed:
            return True
    return False


class _Pinned(httpx.BaseTransport):
    """Connects to the checked IP; the host's name stays in Host and in TLS."""

    def __init__(self, target: Target, seconds: float) -> None:
        self._target = target
        self._inner = TimedTransport(seconds)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the one host.

        Raises:
            AddressRefused: It is for another host.
        """
        wanted, url = self._target.url, request.url
        if (url.scheme, url.host, _port(url)) != (
            *(wanted.scheme, wanted.host),
            _port(wanted),
        ):
            raise AddressRefused(
                _("%(host)s is not the host that was checked.") % {"host": url.host}
            )
        extensions = {**request.extensions, "sni_hostname": wanted.host}
        return self._inner.handle_request(
            httpx.Request(
                request.method,
                url.copy_with(host=self._target.ip),
                headers=request.headers,
                stream=request.stream,
                extensions=extensions,
            )
        )

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()
