"""Checks tokens that a provider has signed: ID tokens and logout tokens.

Rules: OpenID Connect Core 1.0, section 3.1.3.7, and OpenID Connect Back-Channel Logout 1.0, section 2.6.
"""

import logging
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.identities.identity import MAX_SUBJECT
from app_server.sign_in.oidc.discovery import Metadata, Providers
from app_server.sign_in.oidc.refusals import identity_invalid

logger = logging.getLogger(__name__)

LEEWAY_SECONDS = 60
"""How many seconds the clocks of the provider and this server may differ."""

_ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
)
"""The accepted signature algorithms. With each of them, only the owner of the private key can sign. The
algorithm `none` and the algorithms that use the client secret are refused, because they do not prove that the
provider has signed the token.
"""

_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


async def read_id_token(
    providers: Providers, provider: IdentityProvider, token: str, *, nonce: str
) -> dict[str, Any]:
    """Checks an ID token and returns its claims (facts about the person and the sign-in). `nonce`: the random
    text that Slipway has sent at the beginning of the sign-in; the token must contain it, so that a token of
    another sign-in is refused. Raises BadGateway `oidc_identity_invalid` if the token is not valid. Raises
    BadGateway `oidc_provider_unreachable` if the provider's keys cannot be fetched.
    """
    required = {"nonce": {"essential": True, "value": nonce}, "sub": {"essential": True}}
    claims = await _read(providers, provider, token, required)
    if len(claims["sub"]) > MAX_SUBJECT:
        logger.warning("%s names a person with more than %d characters", provider.name, MAX_SUBJECT)
        raise identity_invalid(provider.title)
    audience, party = claims["aud"], claims.get("azp")
    is_for_several = isinstance(audience, list) and len(audience) > 1
    if party != provider.client_id and (is_for_several or party is not None):
        logger.warning("an ID token of %s is for another client: azp %r", provider.name, party)
        raise identity_invalid(provider.title)
    return claims


async def read_logout_token(providers: Providers, provider: IdentityProvider, token: str) -> dict[str, Any]:
    """Checks a logout token and returns its claims (facts about the sign-out), which include `sub` (the
    person), `sid` (the session at the provider) or both.

    Raises BadGateway `oidc_identity_invalid` if the token is not valid. Raises BadGateway
    `oidc_provider_unreachable` if the provider's keys cannot be fetched.
    """
    claims = await _read(providers, provider, token, {"events": {"essential": True}})
    events = claims["events"]
    is_logout = isinstance(events, dict) and isinstance(events.get(_LOGOUT_EVENT), dict)
    if not is_logout or "nonce" in claims or not ({"sub", "sid"} & claims.keys()):
        logger.warning("what %s sent is no logout token", provider.name)
        raise identity_invalid(provider.title)
    return claims


async def _read(
    providers: Providers, provider: IdentityProvider, token: str, required: dict[str, Any]
) -> dict[str, Any]:
    metadata = await providers.metadata(provider)
    try:
        try:
            claims = _verified(token, await providers.keys(provider), metadata)
        except (JoseError, ValueError):
            # It may have been signed with a key that is newer than those we know.
            claims = _verified(token, await providers.keys(provider, are_unknown=True), metadata)
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": metadata.issuer},
            aud={"essential": True, "value": provider.client_id},
            exp={"essential": True},
            iat={"essential": True},
            **required,
        )
        registry.validate(claims)
    except (JoseError, ValueError) as error:
        logger.warning("a token of %s is refused: %r", provider.name, error)
        raise identity_invalid(provider.title) from None
    return claims


def _verified(token: str, keys: KeySet, metadata: Metadata) -> dict[str, Any]:
    allowed = sorted(_ALGORITHMS.intersection(metadata.id_token_signing_alg_values_supported))
    return dict(jwt.decode(token, keys, algorithms=allowed).claims)
