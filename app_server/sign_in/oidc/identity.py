"""Reads a person's identity from the claims of a provider, and decides the person's role here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.oidc.refusals import domain_not_allowed
from app_server.users.models import Role

_MAX_NAME = 200
_MAX_SESSION = 255
_STRONGEST_FIRST = (Role.ADMIN, Role.MEMBER, Role.VIEWER)


@dataclass(frozen=True)
class ProviderIdentity:
    """A person as the provider describes them.

    `role`: None if neither a group nor the default gives one. `teams`: the names
    of the teams that the groups give. `session`: the id of the person's session at
    the provider (`sid`), which the provider names when it ends that session.
    """

    issuer: str
    subject: str
    name: str
    email: str | None
    role: Role | None
    session: str | None
    teams: tuple[str, ...] = ()


def identity_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> ProviderIdentity:
    """Returns the identity that the claims describe. Raises Forbidden `oidc_domain_not_allowed`."""
    email = _verified_email(claims)
    if provider.allowed_domains and (email or "").rpartition("@")[2].lower() not in provider.allowed_domains:
        raise domain_not_allowed()
    subject = str(claims["sub"])
    names = (claims.get(field) for field in ("name", "preferred_username", "email"))
    name = next((text.strip() for text in names if isinstance(text, str) and text.strip()), subject)
    session = claims.get("sid")
    return ProviderIdentity(
        issuer=provider.issuer,
        subject=subject,
        name=name[:_MAX_NAME],
        email=email,
        role=role_of(provider, claims),
        session=session[:_MAX_SESSION] if isinstance(session, str) else None,
        teams=teams_of(provider, claims),
    )


def role_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> Role | None:
    """Returns the strongest role that the person's groups give. If no group gives a role, returns the default
    role, or None if there is no default.
    """
    groups = _groups(provider, claims)
    given = {Role(role) for group, role in provider.roles.items() if group in groups}
    if given:
        return next(role for role in _STRONGEST_FIRST if role in given)
    return Role(provider.default_role) if provider.default_role else None


def teams_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of the teams that the person's groups give."""
    groups = _groups(provider, claims)
    return tuple(team for group, team in provider.teams.items() if group in groups)


def _groups(provider: IdentityProvider, claims: Mapping[str, Any]) -> list[Any]:
    told = claims.get(provider.groups_claim)
    return told if isinstance(told, list) else [told]


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    email, is_verified = claims.get("email"), claims.get("email_verified")
    # Some providers send the text "true" in place of the boolean.
    return email if isinstance(email, str) and is_verified in (True, "true") else None
