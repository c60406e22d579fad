"""The data of a person that an identity provider (OpenID Connect or SAML) reports at a sign-in. The person's
role and teams in Slipway are computed from the groups that the provider reports, according to the
configuration.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from app_server.core.identity_providers import SignInProvider
from app_server.sign_in.identities.refusals import domain_not_allowed
from app_server.users.models import Role

MAX_NAME = 200
MAX_SUBJECT = 255
"""The largest number of characters of the text that identifies a person at a provider."""

_STRONGEST_FIRST = (Role.ADMIN, Role.MEMBER, Role.VIEWER)


@dataclass(frozen=True)
class ProviderIdentity:
    """The data of a person that an identity provider reports.

    `role`: the role to which the configuration maps the person's groups, or else the configured default role;
    None if there is neither. `teams`: the names of the teams to which the configuration maps the groups.
    `session`: a text that identifies the person's session at the provider; None if unknown. With it, Slipway
    can sign out the right browsers if the provider later ends this session. See LinkOrigin.
    """

    issuer: str
    subject: str
    name: str
    email: str | None
    role: Role | None
    session: str | None
    teams: tuple[str, ...] = ()


def require_allowed_domain(provider: SignInProvider, email: str | None) -> None:
    """Checks that the configuration of the provider allows the domain of an e-mail address. `email`: the
    address that the provider has verified; None if there is none. Raises Forbidden `oidc_domain_not_allowed`
    or `saml_domain_not_allowed` if the domain is not allowed.
    """
    if provider.allowed_domains and (email or "").rpartition("@")[2].lower() not in provider.allowed_domains:
        raise domain_not_allowed(provider.protocol)


def role_of(provider: SignInProvider, groups: Collection[Any]) -> Role | None:
    """Returns the person's role. The configuration maps groups at the provider to roles; if the person's
    groups give several roles, returns the role with the most rights. If no group gives a role, returns the
    default role, or None if there is no default.
    """
    given = {Role(role) for group, role in provider.roles.items() if group in groups}
    if given:
        return next(role for role in _STRONGEST_FIRST if role in given)
    return Role(provider.default_role) if provider.default_role else None


def teams_of(provider: SignInProvider, groups: Collection[Any]) -> tuple[str, ...]:
    """Returns the names of the teams to which the configuration maps the person's groups at the provider.
    `groups`: the person's groups.
    """
    return tuple(team for group, team in provider.teams.items() if group in groups)
