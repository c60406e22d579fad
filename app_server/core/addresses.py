"""Parses host names and IP addresses, and decides which IP addresses the app server may call. This module
does no I/O.

The app server calls hosts that users name. A user could try to make it call its own internal network. For
example, the user writes an internal address in an unusual spelling, or names a host that resolves to an
internal address. So each host name is resolved once, and each resulting address is checked before a
connection is made.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DEFAULT_PORTS = frozenset((80, 443))
MAX_HOST_CHARACTERS = 253

_NAME = re.compile(
    r"(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
)
# What resolvers take for an address: 2130706433, 0x7f.1, 0177.0.0.1, 127.1.
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_PORT = re.compile(r":([0-9]{1,5})$")

# Networks for which Python's `is_global` is not used.
_REFUSED: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",  # between a provider and its customers
            "192.88.99.0/24",  # to 6to4 relays
            "224.0.0.0/4",
            "240.0.0.0/4",
            "fec0::/10",
            "ff00::/8",
            "100::/64",
            "3fff::/20",
            "5f00::/16",
        ),
    )
)
# IPv6 addresses that contain an IPv4 address. Other machines decide where such an address leads.
_CARRIERS: tuple[Network, ...] = tuple(
    map(ip_network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"))
) + tuple(map(ip_network, ("2001::/32", "2002::/16")))
# Where clouds tell a machine its own credentials. No list of an administrator opens these.
_METADATA: frozenset[Address] = frozenset(
    map(ip_address, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"))
)


def parse_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Parses IP addresses and networks, such as `192.0.2.7` and `2001:db8::/32`, and returns them as
    networks. Raises ValueError for other texts.
    """
    return tuple(ip_network(text.strip(), strict=False) for text in texts)


def is_within(inner: Network, outer: Network) -> bool:
    """Returns whether all addresses of the network `inner` are also in the network `outer`."""
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def is_from(address: str | None, networks: Sequence[str]) -> bool:
    """Returns whether the IP address is in one of the networks. Returns False if `address` is None or not an
    IP address. An IPv4 address that is written as IPv6 (`::ffff:192.0.2.7`) counts as IPv4.
    """
    try:
        found = ip_address(address or "")
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return any(found in network for network in parse_networks(networks))


class BadHost(ValueError):
    """The error that is raised for a text which is neither a valid host name nor an IP address. The message
    of the error says why the text is not valid.
    """


@dataclass(frozen=True)
class HostRule:
    """A rule about which hosts may be called: one host, or all host names below it. `port`: None means the
    ports 80 and 443. `is_wildcard`: true if the rule is for all host names below `host` (`*.host`), but not
    for `host` itself; false if the rule is only for `host` itself.
    """

    host: str
    port: int | None = None
    is_wildcard: bool = False

    def permits(self, host: str, port: int) -> bool:
        """Returns whether the rule allows this host and this port. A rule without a port allows the ports 80
        and 443.
        """
        if port not in (DEFAULT_PORTS if self.port is None else {self.port}):
            return False
        return self.covers(host)

    def covers(self, host: str) -> bool:
        return host.endswith(f".{self.host}") if self.is_wildcard else host == self.host

    def __str__(self) -> str:
        text = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'*.' * self.is_wildcard}{text}{'' if self.port is None else f':{self.port}'}"


@dataclass(frozen=True)
class Named:
    """The private networks and hosts that an administrator allows the app server to call."""

    networks: Sequence[Network] = ()
    rules: Sequence[HostRule] = field(default=())

    def holds(self, host: str, address: Address) -> bool:
        if any(address in network for network in self.networks):
            return True
        return any(rule.covers(host) for rule in self.rules)


def parse_host(text: str) -> str:
    """Returns the host in its normalized form: an IP address, or a host name in lower case without a dot at
    the end. Raises BadHost if the text is neither an IP address nor a valid host name.
    """
    try:
        address = ip_address(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
    except ValueError:
        return _parse_name(text)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise BadHost("A link-local address cannot be called.")
    return str(address)


def parse_rule(text: str) -> HostRule:
    """Parses a rule for hosts, such as `example.org`, `*.example.org` or
    `example.org:8443`. Raises BadHost if the text is not a valid rule.
    """
    rest, port = text.strip().lower(), None
    # A bare IPv6 address contains colons.
    if (found := _PORT.search(rest)) and (rest.count(":") == 1 or "]:" in rest):
        rest, port = rest[: found.start()], int(found[1])
        if not 1 <= port <= 65535:
            raise BadHost(f"{port} is not a port number.")
    is_wildcard = rest.startswith("*.")
    host = parse_host(rest.removeprefix("*.") if is_wildcard else rest)
    if is_wildcard and is_address(host):
        raise BadHost("An IP address has no names below it.")
    return HostRule(host, port, is_wildcard)


def parse_named(texts: Sequence[str]) -> Named:
    """Parses the private networks (such as 10.0.0.0/8), IP addresses and host rules that an administrator
    allows, and returns all of them in one object. Raises BadHost if one of the texts is not valid.
    """
    networks: list[Network] = []
    rules: list[HostRule] = []
    for text in texts:
        try:
            networks.append(ip_network(text.strip()))
        except ValueError:
            rules.append(parse_rule(text))
    return Named(tuple(networks), tuple(rules))


def is_address(host: str) -> bool:
    """Returns whether `host`, which must be normalized by `parse_host`, is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_refused(host: str, address: str, named: Named) -> bool:
    """Returns whether the app server must not call the IP address. Addresses that are not public must not be
    called, unless an administrator allows them. Addresses at which clouds give a machine its credentials must
    never be called, even if an administrator allows them.

    `host`: the host name that was resolved to `address`. `named`: the private networks and hosts that an
    administrator allows.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return True
    if found in _METADATA:
        return True
    return not _is_public(found) and not named.holds(host, found)


def _is_public(address: Address) -> bool:
    if any(address in network for network in (*_REFUSED, *_CARRIERS)):
        return False
    return address.is_global and not address.is_multicast


def _parse_name(text: str) -> str:
    name = text.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise BadHost("This is not the name of a host.")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise BadHost("An address has to be written in full, as four decimal numbers or as IPv6.")
    return name
