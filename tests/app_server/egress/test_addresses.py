"""Tests of host names and addresses: different spellings, and which addresses sandboxes may not reach."""

import pytest

from app_server.core.addresses import BadHost, is_refused, parse_host, parse_named, parse_rule

NOBODY = parse_named([])

INNER = """
127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.1.1 169.254.169.254
100.64.0.1 100.100.100.200 0.0.0.0 0.1.2.3 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1
192.88.99.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
::1 :: fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1 100::1 3fff::1 5f00::1
::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::a00:1
2002:7f00:1:: 2002:808:808:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
"""

DISGUISED = """
2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 127.1 127.0.1 0x7f.1 1 0 010.0.0.1 127.0.0.0x1
127.0.0.1. 0x a.0x1 [127.0.0.1 fe80::1%eth0 example..org -a.test exa_mple-.org a/b a@b %31 \u2460.test
"""


@pytest.mark.parametrize("address", INNER.split())
def test_an_inner_address_is_refused(address: str) -> None:
    assert is_refused("nip.test", address, NOBODY)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450::1"])
def test_a_public_address_is_not(address: str) -> None:
    assert not is_refused("nip.test", address, NOBODY)


@pytest.mark.parametrize("text", DISGUISED.split())
def test_a_disguised_address_is_no_host(text: str) -> None:
    with pytest.raises(BadHost):
        parse_host(text)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.ORG.", "example.org"),
        ("[2606:4700::1111]", "2606:4700::1111"),
        ("2606:4700:0::1111", "2606:4700::1111"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("1.pool.test", "1.pool.test"),
    ],
)
def test_a_host_has_one_spelling(text: str, host: str) -> None:
    assert parse_host(text) == host


def test_what_an_administrator_names_may_be_called() -> None:
    named = parse_named(["10.1.0.0/16", "127.0.0.1", "*.corp.test"])

    assert not is_refused("a.test", "10.1.2.3", named)
    assert is_refused("a.test", "10.2.2.3", named)
    assert not is_refused("localhost", "127.0.0.1", named)
    assert not is_refused("git.corp.test", "192.168.0.9", named)
    assert is_refused("corp.test", "192.168.0.9", named)


def test_metadata_services_of_machines_cannot_be_allowed() -> None:
    named = parse_named(["0.0.0.0/0", "::/0", "*.test"])

    assert is_refused("metadata.test", "169.254.169.254", named)
    assert is_refused("metadata.test", "fd00:ec2::254", named)


@pytest.mark.parametrize(
    ("rule", "host", "port", "permits"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("[2606:4700::1111]:853", "2606:4700::1111", 853, True),
        ("2606:4700::1111", "2606:4700::1111", 443, True),
    ],
)
def test_a_rule_names_hosts_and_ports(rule: str, host: str, port: int, *, permits: bool) -> None:
    assert parse_rule(rule).permits(host, port) is permits
    assert parse_rule(str(parse_rule(rule))) == parse_rule(rule)


@pytest.mark.parametrize("text", ["", "*", "*.", "*.127.0.0.1", "a.test:0", "a.test:70000", "http://a.test"])
def test_what_names_no_host_is_no_rule(text: str) -> None:
    with pytest.raises(BadHost):
        parse_rule(text)
