"""The network policy of sandboxes: decides which hosts a sandbox may call. Does no I/O, except that it reads
the list of known hosts from a file once.
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
    """A rule of the organisation or of a team that allows or forbids sandboxes to call certain hosts.

    rule: the hosts that the rule is about. level_value: what the rule decides and which organisation or team
    has made it. Its field `value` is True if the rule allows the hosts, and False if the rule forbids them.
    Its field `enforced` is True if users cannot override the rule.
    """

    rule: HostRule
    level_value: LevelValue


class EgressMode(StrEnum):
    """The mode of a network policy, which says how much of the network a sandbox may use.

    NONE: the sandbox may call no host. ALLOWLIST: the sandbox may call the allowed hosts. OPEN: the sandbox
    may call all public hosts.
    """

    NONE = "none"
    ALLOWLIST = "allowlist"
    OPEN = "open"


class Reason(StrEnum):
    """The reason why the egress proxy refuses a request of a sandbox. The API and the replies of the proxy
    contain this value as a code.
    """

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
"""The reasons for which a user is asked to allow the host. The reason DENIED (a rule of the organisation or a
team denies the host) is not one of them. A user can allow such a host only in the network settings, and
only if the rule is not enforced.
"""


@dataclass(frozen=True)
class Policy:
    """The rules that decide which hosts a sandbox may call.

    `mode`: whether the sandbox may call no host, only the allowed hosts, or all public hosts. `rules`: the
    allowed hosts. In the mode OPEN, all public hosts are allowed on the ports 80 and 443, and `rules`
    contains hosts that are allowed on other ports. `own`: the part of `rules` that the user has added.
    `of_levels`: the rules of the organisation and of the user's teams, which allow or deny hosts.

    `others`: if the sandbox works on several repositories, each repository has a policy. This object is one
    of them, and `others` contains the rest. A request is allowed only if all these policies allow it.
    """

    mode: EgressMode
    rules: Sequence[HostRule] = ()
    own: Sequence[HostRule] = ()
    of_levels: Sequence[RuleOfLevel] = ()
    others: "Sequence[Policy]" = ()

    @classmethod
    def strictest(cls, policies: "Sequence[Policy]") -> "Policy":
        """Returns a policy that allows a request only if all policies in `policies` allow it. The returned
        policy has the strictest mode that occurs in `policies`. This is the policy of a sandbox with several
        repositories. `policies` must not be empty.
        """
        first, *others = sorted(policies, key=lambda policy: [*EgressMode].index(policy.mode))
        return replace(first, others=others)

    def with_hosts(self, rules: Sequence[HostRule]) -> "Policy":
        """Returns a copy of the policy that allows these additional hosts. The additional hosts have no
        effect if the mode is NONE, in which the sandbox may call no host.
        """
        others = [replace(policy, rules=[*policy.rules, *rules]) for policy in self.others]
        return replace(self, rules=[*self.rules, *rules], others=others)

    def equals(self, other: "Policy") -> bool:
        """Returns whether this policy and `other` have the same mode, the same allowed hosts and the same
        additional policies (`others`), each in any order. Does not compare the rules of the organisation and
        of teams.
        """
        return self.parts() == other.parts()

    def refusal(self, host: str, port: int) -> Reason | None:
        """Returns the reason why this policy refuses requests to the host and port. Returns None if the
        policy allows these requests.

        host: an IP address, or a host name in lower case without a dot at the end.
        """
        policies = (self, *self.others)
        refusals = (_refusal(policy, host, port) for policy in policies)
        return next((reason for reason in refusals if reason), None)

    def parts(self) -> frozenset[tuple[EgressMode, frozenset[HostRule]]]:
        """Returns the mode and the allowed hosts of this policy and of each policy in `others`, as a set of
        pairs. The method `equals` compares these sets, so that the order of hosts and policies does not
        matter.
        """
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
    """Decides whether a host is allowed if the organisation or a team has a rule for it. Returns True if the
    host is allowed, and False if it is denied. Returns None if neither the organisation nor a team has a rule
    for the host; the caller then uses the mode and the allowed hosts of the policy.

    If several rules are about the host, the rule with the highest priority decides. The order is, highest
    first: enforced rules of the organisation, enforced rules of teams, rules of the user (`policy.own`),
    other rules of teams, other rules of the organisation. Of two rules with the same owner, the rule that
    denies the host has priority.
    """
    said = [one.level_value for one in policy.of_levels if _is_about(one, host, port)]
    if not said:
        return None
    if any(rule.permits(host, port) for rule in policy.own):
        said.append(LevelValue(Level.USER, value=True))
    decided: bool = in_order(sorted(said, key=lambda one: bool(one.value)))[0].value
    return decided


def _is_about(one: RuleOfLevel, host: str, port: int) -> bool:
    """Returns whether the rule `one` applies to requests to this host and port. A rule that names a port
    applies only to this port. A rule without a port applies to all ports if it denies the host, and only to
    the ports 80 and 443 if it allows the host.
    """
    if one.rule.port is None and not one.level_value.value:
        return one.rule.covers(host)
    return one.rule.permits(host, port)


@cache
def known_hosts() -> tuple[HostRule, ...]:
    """Returns the hosts that all sandboxes may call by default: package registries and git hosts from the
    file `known_hosts.toml`.
    """
    groups = tomllib.loads(Path(__file__).with_name("known_hosts.toml").read_text())
    return tuple(parse_rule(host) for group in groups.values() for hosts in group.values() for host in hosts)
