"""Reads a person's identity from the claims (statements about the person) that an OpenID Connect provider
returns.
"""

from collections.abc import Mapping
from typing import Any

from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.identities.identity import (
    MAX_NAME,
    ProviderIdentity,
    require_allowed_domain,
    role_of,
    teams_of,
)

_MAX_SESSION = 255


def identity_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> ProviderIdentity:
    """Returns the person's identity that the claims (facts about the person) of a provider describe. Raises
    Forbidden `oidc_domain_not_allowed` if the domain of the person's e-mail address is not allowed.
    """
    email = _verified_email(claims)
    require_allowed_domain(provider, email)
    subject = str(claims["sub"])
    names = (claims.get(field) for field in ("name", "preferred_username", "email"))
    name = next((text.strip() for text in names if isinstance(text, str) and text.strip()), subject)
    session = claims.get("sid")
    groups = _groups(provider, claims)
    return ProviderIdentity(
        issuer=provider.issuer,
        subject=subject,
        name=name[:MAX_NAME],
        email=email,
        role=role_of(provider, groups),
        session=session[:_MAX_SESSION] if isinstance(session, str) else None,
        teams=teams_of(provider, groups),
    )


def _groups(provider: IdentityProvider, claims: Mapping[str, Any]) -> list[Any]:
    groups = claims.get(provider.groups_claim)
    return groups if isinstance(groups, list) else [groups]


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    email, is_verified = claims.get("email"), claims.get("email_verified")
    # Some providers send the text "true" in place of the boolean.
    return email if isinstance(email, str) and is_verified in (True, "true") else None
