"""The network policy of sandboxes. Pure, except that the data file is read once."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from app_server.core.addresses import DEFAULT_PORTS, HostRule, parse_rule


class EgressMode(StrEnum):
    """What may be called: nothing, the listed hosts, or all public hosts."""

    NONE = "none"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class Reason(StrEnum):
    """Why a request was refused."""

    NETWORK_OFF = "network_off"
    NOT_ALLOWED = "not_allowed"
    BAD_HOST = "bad_host"
    PRIVATE_ADDRESS = "private_address"
    UNKNOWN_HOST = "unknown_host"
    UNREACHABLE = "unreachable"
    OTHER_NAME = "other_name"
    NOT_TLS = "not_tls"
    NOT_TRUSTED = "not_trusted"
    BAD_CERTIFICATE = "bad_certificate"
    UPSTREAM_REFUSED = "upstream_refused"
    GIT_WRITE = "git_write"
    FOREIGN_CREDENTIAL = "foreign_credential"


ALLOWABLE = frozenset((Reason.NOT_ALLOWED,))
"""The refusals that a user can lift by allowing the host."""


@dataclass(frozen=True)
class Policy:
    """A network policy. `rules`: the allowed hosts. In the mode OPEN all public hosts are allowed on the
    default ports, and `rules` allow further ports.

    `others`: further policies that must also allow a request.
    """

    mode: EgressMode
    rules: Sequence[HostRule] = ()
    others: "Sequence[Policy]" = ()

    @classmethod
    def strictest(cls, policies: "Sequence[Policy]") -> "Policy":
        """Returns a policy that allows what all these policies allow. Its mode is the strictest one."""
        first, *others = sorted(policies, key=lambda policy: [*EgressMode].index(policy.mode))
        return replace(first, others=others)

    def with_hosts(self, rules: Sequence[HostRule]) -> "Policy":
        """Returns the policy with additional hosts. If the network is off, they are not allowed either."""
        others = [replace(policy, rules=[*policy.rules, *rules]) for policy in self.others]
        return replace(self, rules=[*self.rules, *rules], others=others)

    def equals(self, other: "Policy") -> bool:
        """Returns whether both policies have the same rules, in any order."""
        return self.parts() == other.parts()

    def refusal(self, host: str, port: int) -> Reason | None:
        """Returns why a normalized host (`addresses.parse_host`) is refused. Returns None if it
        is allowed.
        """
        policies = (self, *self.others)
        refusals = (_refusal(policy.mode, policy.rules, host, port) for policy in policies)
        return next((reason for reason in refusals if reason), None)

    def parts(self) -> frozenset[tuple[EgressMode, frozenset[HostRule]]]:
        """Returns the modes and rules of all policies that must allow a request."""
        return frozenset((policy.mode, frozenset(policy.rules)) for policy in (self, *self.others))


def _refusal(mode: EgressMode, rules: Iterable[HostRule], host: str, port: int) -> Reason | None:
    if mode is EgressMode.NONE:
        return Reason.NETWORK_OFF
    if mode is EgressMode.OPEN and port in DEFAULT_PORTS:
        return None
    if any(rule.permits(host, port) for rule in rules):
        return None
    return Reason.NOT_ALLOWED


@cache
def known_hosts() -> tuple[HostRule, ...]:
    """Returns the built-in allowed hosts of package registries and git hosts."""
    groups = tomllib.loads(Path(__file__).with_name("known_hosts.toml").read_text())
    return tuple(parse_rule(host) for group in groups.values() for hosts in group.values() for host in hosts)
