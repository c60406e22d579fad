"""The network policy of sandboxes: which hosts they may call. Does no I/O, except that the data file is read
once.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from app_server.core.addresses import DEFAULT_PORTS, HostRule, parse_rule
from app_server.levels.models import Level
from app_server.levels.resolution import LevelValue, in_order


@dataclass(frozen=True)
class RuleOfLevel:
    """A rule of the organisation or a team for a host. `level_value.value`: whether the rule allows the host
    or denies it.
    """

    rule: HostRule
    level_value: LevelValue


class EgressMode(StrEnum):
    """What may be called: nothing, the listed hosts, or all public hosts."""

    NONE = "none"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class Reason(StrEnum):
    """Why a request was refused."""

    NETWORK_OFF = "network_off"
    NOT_ALLOWED = "not_allowed"
    DENIED = "denied"
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
"""The refusals that a user can lift by allowing the host. What is denied can be allowed in the settings only,
if the denial is not enforced.
"""


@dataclass(frozen=True)
class Policy:
    """The rules for which hosts a sandbox may call. `rules`: the allowed hosts. In the mode OPEN all public
    hosts are allowed on the default ports, and `rules` allow further ports.

    `own`: those of the rules that the user has made. `of_levels`: rules of the organisation and of teams.
    `others`: further policies that must also allow a request.
    """

    mode: EgressMode
    rules: Sequence[HostRule] = ()
    own: Sequence[HostRule] = ()
    of_levels: Sequence[RuleOfLevel] = ()
    others: "Sequence[Policy]" = ()

    @classmethod
    def strictest(cls, policies: "Sequence[Policy]") -> "Policy":
        """Returns a policy that allows only what all these policies allow. It has the strictest of their
        modes.
        """
        first, *others = sorted(policies, key=lambda policy: [*EgressMode].index(policy.mode))
        return replace(first, others=others)

    def with_hosts(self, rules: Sequence[HostRule]) -> "Policy":
        """Returns the policy with additional allowed hosts. If the mode allows no network, these hosts are
        not allowed either.
        """
        others = [replace(policy, rules=[*policy.rules, *rules]) for policy in self.others]
        return replace(self, rules=[*self.rules, *rules], others=others)

    def equals(self, other: "Policy") -> bool:
        """Returns whether both policies have the same rules, in any order."""
        return self.parts() == other.parts()

    def refusal(self, host: str, port: int) -> Reason | None:
        """Returns the reason why a host is refused. Returns None if the host is allowed. host: normalized by
        `addresses.parse_host`.
        """
        policies = (self, *self.others)
        refusals = (_refusal(policy, host, port) for policy in policies)
        return next((reason for reason in refusals if reason), None)

    def parts(self) -> frozenset[tuple[EgressMode, frozenset[HostRule]]]:
        """Returns the modes and rules of all policies that must allow a request."""
        return frozenset((policy.mode, frozenset(policy.rules)) for policy in (self, *self.others))


def _refusal(policy: Policy, host: str, port: int) -> Reason | None:
    if policy.mode is EgressMode.NONE:
        return Reason.NETWORK_OFF
    decided = _decided(policy, host, port)
    if decided is not None:
        return None if decided else Reason.DENIED
    if policy.mode is EgressMode.OPEN and port in DEFAULT_PORTS:
        return None
    if any(rule.permits(host, port) for rule in policy.rules):
        return None
    return Reason.NOT_ALLOWED


def _decided(policy: Policy, host: str, port: int) -> bool | None:
    """Returns whether a rule of the organisation, a team or the user allows or denies the host. Returns None
    if no rule is about the host. At the same level a denial has priority over an allowance.
    """
    said = [one.level_value for one in policy.of_levels if _is_about(one, host, port)]
    if not said:
        return None
    if any(rule.permits(host, port) for rule in policy.own):
        said.append(LevelValue(Level.USER, value=True))
    decided: bool = in_order(sorted(said, key=lambda one: bool(one.value)))[0].value
    return decided


def _is_about(one: RuleOfLevel, host: str, port: int) -> bool:
    """Returns whether the rule is about the host. A denial without a port is about all ports."""
    if one.rule.port is None and not one.level_value.value:
        return one.rule.covers(host)
    return one.rule.permits(host, port)


@cache
def known_hosts() -> tuple[HostRule, ...]:
    """Returns the built-in allowed hosts of package registries and git hosts."""
    groups = tomllib.loads(Path(__file__).with_name("known_hosts.toml").read_text())
    return tuple(parse_rule(host) for group in groups.values() for hosts in group.values() for host in hosts)
