"""The two steps of a sign-in by OpenID Connect (authorization code flow). First, the browser is sent to the
provider. Then the authorization code, which the browser brings back, is exchanged for the claims (facts about
the person).
"""

import logging
from typing import TYPE_CHECKING, Any

from app_server.core.config import Config
from app_server.core.errors import Forbidden
from app_server.core.identity_providers import IdentityProvider
from app_server.http.guarded_httpx2 import guarded_transport
from app_server.sign_in.oidc.attempts import Attempt
from app_server.sign_in.oidc.discovery import TIMEOUT_SECONDS, Metadata, Providers
from app_server.sign_in.oidc.refusals import identity_invalid, provider_unreachable
from app_server.sign_in.oidc.tokens import read_id_token

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

logger = logging.getLogger(__name__)


def redirect_uri(config: Config, provider: IdentityProvider) -> str:
    """Returns the URL of this server to which the provider sends the browser back. This URL must be
    registered at the provider.
    """
    return f"{config.base_url}/api/v1/sign-in/oidc/{provider.name}/callback"


def logout_uri(config: Config, provider: IdentityProvider) -> str:
    """Returns the URL of this server that the provider calls after the person has signed out at
    the provider.
    """
    return f"{config.base_url}/api/v1/sign-in/oidc/{provider.name}/logout"


async def authorization_url(
    config: Config, providers: Providers, provider: IdentityProvider, attempt: Attempt
) -> str:
    """Returns the URL of the provider's page where the browser begins the sign-in. `attempt`: the sign-in
    that the browser has begun. The URL contains its `state`, its `nonce` and a hash of its `verifier`.

    Raises BadGateway `oidc_provider_unreachable` if the provider's metadata cannot be fetched.
    """
    metadata = await providers.metadata(provider)
    async with _client(config, providers, provider, metadata) as client:
        url, _ = client.create_authorization_url(
            metadata.authorization_endpoint,
            state=attempt.state,
            nonce=attempt.nonce,
            code_verifier=attempt.verifier,
        )
    return str(url)


async def claims_for_code(
    config: Config, providers: Providers, provider: IdentityProvider, attempt: Attempt, code: str
) -> dict[str, Any]:
    """Exchanges the authorization code, which the browser has brought back from the provider, for the
    provider's tokens. Returns the claims (facts about the person) of the ID token together with those of the
    userinfo endpoint. `attempt`: the sign-in that the browser has begun.

    Raises BadGateway `oidc_provider_unreachable` if the provider does not answer. Raises BadGateway
    `oidc_identity_invalid` if the ID token is not valid.
    """
    import httpx2  # see _client
    from authlib.common.errors import AuthlibBaseError

    metadata = await providers.metadata(provider)
    try:
        async with _client(config, providers, provider, metadata) as client:
            tokens = await client.fetch_token(
                metadata.token_endpoint, code=code, code_verifier=attempt.verifier
            )
    except (httpx2.HTTPError, httpx2.InvalidURL, AuthlibBaseError, ValueError, Forbidden) as error:
        logger.warning("%s does not exchange the code: %r", provider.name, error)
        raise provider_unreachable(provider.title) from None
    id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
    if not isinstance(id_token, str):
        logger.warning("%s sends no ID token", provider.name)
        raise identity_invalid(provider.title)
    claims = await read_id_token(providers, provider, id_token, nonce=attempt.nonce)
    if not isinstance(access_token, str):
        return claims
    userinfo = await providers.userinfo(provider, access_token)
    if userinfo and userinfo.get("sub") != claims["sub"]:
        logger.warning("%s tells of another person than its ID token", provider.name)
        raise identity_invalid(provider.title)
    return {**userinfo, **claims}


def _client(
    config: Config, providers: Providers, provider: IdentityProvider, metadata: Metadata
) -> "AsyncOAuth2Client":
    # Loaded at the first sign-in: it takes a quarter of a second, and most servers have no provider.
    from authlib.integrations.httpx_client import AsyncOAuth2Client

    file = provider.client_secret_file
    return AsyncOAuth2Client(
        client_id=provider.client_id,
        client_secret=file.read_text().strip() if file else None,
        token_endpoint_auth_method=_authentication(provider, metadata),
        scope=" ".join(provider.scopes),
        redirect_uri=redirect_uri(config, provider),
        code_challenge_method="S256",
        timeout=TIMEOUT_SECONDS,
        transport=guarded_transport(providers.guard_for(provider)),
    )


def _authentication(provider: IdentityProvider, metadata: Metadata) -> str:
    """Returns the name of the method by which this server sends its client secret to the provider's token
    endpoint.
    """
    if provider.client_secret_file is None:
        return "none"
    offered = metadata.token_endpoint_auth_methods_supported
    return "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"
