"""Which addresses the portal speaks to, and that it speaks to no other."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from portal.core.outward import (
    AddressRefused,
    AddressUnknown,
    check_address,
    outward_client,
)


@pytest.fixture
def resolve(monkeypatch):
    """Return a function that lets names resolve to IPs."""
    names: dict[str, list[str]] = {}

    real = socket.getaddrinfo

    def lookup(host, port, *args, **more):
        if host == "127.0.0.1":
            return real(host, port, *args, **more)
        if host not in names:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, 1, 6, "", (ip, port)) for ip in names[host]]

    monkeypatch.setattr("portal.core.outward.socket.getaddrinfo", lookup)
    return names.update


@pytest.fixture
def server():
    """Yield the port of a server on loopback, and the requests that it saw."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers["Host"]))
            self.send_response(302 if self.path == "/away" else 200)
            self.send_header("Location", "http://169.254.169.254/latest")
            self.end_headers()

        def log_message(self, *_args):
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield httpd.server_port, seen
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.mark.parametrize("ip", ["10.3.4.5", "192.168.0.9", "172.20.1.1", "8.8.8.8"])
def test_addresses_of_the_network_are_spoken_to(ip, resolve):
    resolve({"prometheus.monitoring": [ip]})

    check_address("http://prometheus.monitoring:9090/base")


@pytest.mark.parametrize(
    "ip",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "169.254.169.254"),
        *("169.254.1.1", "224.0.0.1", "255.255.255.255", "100.100.100.200"),
        *("::1", "::", "fe80::1", "ff02::1", "fd00:ec2::254"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1"),
        "2002:7f00:1::",
    ],
)
def test_inward_addresses_are_refused(ip, resolve):
    resolve({"evil.example.com": ["10.0.0.1", ip]})

    with pytest.raises(AddressRefused, match="SLICEWISE_OUTWARD_ALLOW"):
        check_address("https://evil.example.com")


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://h/", "file:///etc/passwd", "//h/", "http://", "http:///p",
     "gopher://h", "http://h:99999/", "javascript:alert(1)", "http://" + "h" * 600],
)  # fmt: skip
def test_what_is_no_address_is_refused(url, resolve):
    with pytest.raises(AddressRefused, match=r"is no address"):
        check_address(url)


@pytest.mark.parametrize("url", ["http://u:p@h/", "http://h/#x", "http://u@h/"])
def test_a_password_is_refused_without_being_repeated(url, resolve):
    with pytest.raises(AddressRefused) as refused:
        check_address(url)

    assert "u:p" not in refused.value.message


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost"]
)
def test_other_spellings_of_loopback_are_refused(host):
    with pytest.raises(AddressRefused):
        check_address(f"http://{host}/")


def test_an_unknown_host_may_be_known_later(resolve):
    with pytest.raises(AddressUnknown) as refused:
        check_address("http://nowhere.example.com")

    assert not refused.value.permanent


@pytest.mark.parametrize("entry", ["127.0.0.0/8", "127.0.0.1", "Prom.example.com"])
def test_an_operator_can_allow_a_host_or_a_network(entry, resolve, settings):
    resolve({"prom.example.com": ["127.0.0.1"], "other.example.com": ["::1"]})
    settings.SLICEWISE_OUTWARD_ALLOW = [entry]

    check_address("http://prom.example.com")
    with pytest.raises(AddressRefused):
        check_address("http://other.example.com")


def test_the_client_connects_to_the_checked_ip(resolve, settings, server):
    port, seen = server
    settings.SLICEWISE_OUTWARD_ALLOW = ["prom.example.com"]
    resolve({"prom.example.com": ["127.0.0.1"]})
    with outward_client(
        f"http://prom.example.com:{port}/base/", timeout=5, seconds=10
    ) as client:
        resolve({"prom.example.com": ["203.0.113.9"]})  # it is somewhere else now
        assert client.get("api").status_code == 200

    assert seen == [("/base/api", f"prom.example.com:{port}")]


def test_the_client_follows_no_redirect_and_speaks_to_no_other(settings, server):
    port, seen = server
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    with outward_client(f"http://127.0.0.1:{port}", timeout=5, seconds=10) as client:
        assert client.get("/away").status_code == 302
        with pytest.raises(AddressRefused, match="not the host"):
            client.get("http://169.254.169.254/latest")
        with pytest.raises(AddressRefused, match="not the host"):
            client.get(f"http://127.0.0.1:{port + 1}/")

    assert [path for path, _host in seen] == ["/away"]
