"""Fetches what an OpenID Connect provider publishes about itself: the URLs of its endpoints and its signing
keys.

Formats: OpenID Connect Discovery 1.0, section 3, and RFC 7517.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from pydantic import BaseModel, ValidationError

from app_server.core.errors import Forbidden
from app_server.core.identity_providers import IdentityProvider
from app_server.core.server_objects import from_server
from app_server.http.guarded_client import Guard, bound_to
from app_server.sign_in.identities.refusals import provider_not_found
from app_server.sign_in.oidc.refusals import provider_unreachable

logger = logging.getLogger(__name__)

WELL_KNOWN = "/.well-known/openid-configuration"
TIMEOUT_SECONDS = 10.0
_MAX_AGE_SECONDS = 3600.0
MIN_AGE_OF_KEYS_SECONDS = 10.0
"""The minimum time, in seconds, between two fetches of a provider's keys that are caused by tokens with
unknown keys. Anyone can send tokens that are signed with unknown keys. So this limit prevents many fetches.
"""


class Metadata(BaseModel):
    """The fields of an OpenID Connect provider's discovery document that Slipway reads, such as the URLs of
    its endpoints.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    id_token_signing_alg_values_supported: list[str] = ["RS256"]
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]


@dataclass
class _Known:
    metadata: Metadata
    since: float
    keys: KeySet | None = None
    keys_since: float = field(default=0.0)


class Providers:
    """The OpenID Connect providers of this installation. The metadata and keys that the providers publish are
    cached for an hour.

    The metadata of a provider contain the URLs of its endpoints. They could lead this server to a machine in
    its private network that the operator has not named. Therefore an endpoint at a private network address is
    called only if it has the same origin as the issuer, the provider's URL in the configuration.
    """

    def __init__(
        self, providers: Sequence[IdentityProvider], client: httpx.AsyncClient, guard: Guard
    ) -> None:
        self._providers = {provider.name: provider for provider in providers}
        self._client = client
        self._guard = guard
        self._known: dict[str, _Known] = {}

    def guard_for(self, provider: IdentityProvider) -> Guard:
        """Returns a guard for calls to the endpoints of this provider. The guard checks the network address
        before each call and refuses private addresses. The origin of the provider's issuer may be private,
        because the operator has named this URL in the configuration.
        """
        return self._guard.trusting(provider.issuer)

    def all(self) -> Sequence[IdentityProvider]:
        return tuple(self._providers.values())

    def find(self, name: str) -> IdentityProvider:
        """Returns the provider with this name. Raises NotFound `oidc_provider_not_found` if there is none."""
        if provider := self._providers.get(name):
            return provider
        raise provider_not_found("oidc")

    async def metadata(self, provider: IdentityProvider) -> Metadata:
        """Returns the provider's discovery document. Raises BadGateway `oidc_provider_unreachable` if the
        document cannot be fetched.
        """
        return (await self._look_up(provider)).metadata

    async def keys(self, provider: IdentityProvider, *, are_unknown: bool = False) -> KeySet:
        """Returns the public keys with which the provider's tokens are verified. Fetches the keys from the
        provider if they are not cached.

        `are_unknown`: true if the cached keys lack the key of a token that the caller verifies. Then the keys
        are fetched again, unless the cached ones are younger than MIN_AGE_OF_KEYS_SECONDS. Raises BadGateway
        `oidc_provider_unreachable` if the keys cannot be fetched.
        """
        known = await self._look_up(provider)
        age = time.monotonic() - known.keys_since
        if known.keys is None or (are_unknown and age > MIN_AGE_OF_KEYS_SECONDS):
            known.keys = self._parse_keys(provider, await self._get(provider, known.metadata.jwks_uri))
            known.keys_since = time.monotonic()
        return known.keys

    async def userinfo(self, provider: IdentityProvider, access_token: str) -> dict[str, Any]:
        """Returns the claims (facts about the person, such as the e-mail address) from the provider's
        userinfo endpoint. Returns no claims if the provider has no such endpoint.

        Raises BadGateway `oidc_provider_unreachable` if the claims cannot be fetched.
        """
        endpoint = (await self.metadata(provider)).userinfo_endpoint
        if endpoint is None:
            return {}
        return await self._get(provider, endpoint, {"Authorization": f"Bearer {access_token}"})

    async def _look_up(self, provider: IdentityProvider) -> _Known:
        known = self._known.get(provider.name)
        if known and time.monotonic() - known.since < _MAX_AGE_SECONDS:
            return known
        document = await self._get(provider, provider.issuer.rstrip("/") + WELL_KNOWN)
        try:
            metadata = Metadata.model_validate(document)
        except ValidationError as error:
            logger.warning("the discovery document of %s is incomplete: %s", provider.name, error)
            raise provider_unreachable(provider.title) from None
        if metadata.issuer != provider.issuer:
            logger.warning("%s calls itself %r, not %r", provider.name, metadata.issuer, provider.issuer)
            raise provider_unreachable(provider.title)
        self._known[provider.name] = _Known(metadata, time.monotonic())
        return self._known[provider.name]

    async def _get(
        self, provider: IdentityProvider, url: str, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        try:
            reply = await self._client.get(
                url, headers=headers, timeout=TIMEOUT_SECONDS, extensions=bound_to(provider.issuer)
            )
            found = reply.raise_for_status().json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, Forbidden) as error:
            logger.warning("%s does not answer at %s: %r", provider.name, url, error)
            raise provider_unreachable(provider.title) from None
        if not isinstance(found, dict):
            logger.warning("%s answers at %s with something other than an object", provider.name, url)
            raise provider_unreachable(provider.title)
        return found

    def _parse_keys(self, provider: IdentityProvider, document: dict[str, Any]) -> KeySet:
        try:
            return KeySet.import_key_set(
                {"keys": [key for key in document["keys"] if key.get("use") != "enc"]}
            )
        except (JoseError, KeyError, TypeError, ValueError) as error:
            logger.warning("the keys of %s cannot be read: %r", provider.name, error)
            raise provider_unreachable(provider.title) from None


ServerProviders = Annotated[Providers, from_server("identity_providers")]
