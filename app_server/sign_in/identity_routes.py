"""HTTP routes about the identity providers of every protocol. They list the providers for the sign-in page,
and connect the current user's account with providers, so that the user can sign in by a provider.
"""

from collections.abc import Sequence

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session, Timestamp
from app_server.core.encryption import ServerCipher
from app_server.core.identity_providers import IdentityProvider
from app_server.core.server_objects import ServerConfig
from app_server.core.sign_in.saml_providers import SamlProvider
from app_server.sign_in.identities import accounts
from app_server.sign_in.oidc import attempts, exchange
from app_server.sign_in.oidc.discovery import Providers, ServerProviders
from app_server.sign_in.saml import attempts as saml_attempts
from app_server.sign_in.saml.providers import SamlProviders, ServerSamlProviders

open_router = APIRouter(prefix="/api/v1/sign-in", tags=["Sign-in"])
router = APIRouter(prefix="/api/v1/identities", tags=["Users"])


class ProviderInfo(BaseModel):
    """An identity provider in the list for the sign-in page. `url`: where the browser goes to sign in by this
    provider, relative to this server.
    """

    name: str
    title: str
    url: str


@open_router.get("/providers")
async def list_providers(
    identity_providers: ServerProviders, saml_providers: ServerSamlProviders
) -> list[ProviderInfo]:
    """Returns the identity providers by which people can sign in. One-time links, with which people can also
    sign in, are not in the list.
    """
    return [
        ProviderInfo(name=one.name, title=one.title, url=f"{open_router.prefix}/{one.protocol}/{one.name}")
        for one in _all(identity_providers, saml_providers)
    ]


class IdentityConnection(BaseModel):
    """An identity provider, and whether the user's account is connected with it.

    `connected_at`: the time when the account was connected; null if it is not connected. `email`: the user's
    e-mail address that the provider has verified; null if there is none.
    """

    provider: str
    title: str
    connected_at: Timestamp | None
    email: str | None


class ProviderPage(BaseModel):
    """The reply to a request that begins to connect the user's account with a provider. `url`: the page of
    the provider that the browser opens next.
    """

    url: str


@router.get("")
async def list_connections(
    user: CurrentUser,
    session: ReadSession,
    identity_providers: ServerProviders,
    saml_providers: ServerSamlProviders,
) -> list[IdentityConnection]:
    """Lists all identity providers of this installation, and for each whether the user's account is
    connected.
    """
    rows = await accounts.connected(session, user.id)
    return [
        IdentityConnection(
            provider=one.name,
            title=one.title,
            connected_at=row.created_at if (row := rows.get(one.issuer)) else None,
            email=row.email if row else None,
        )
        for one in _all(identity_providers, saml_providers)
    ]


@router.post("/{provider}")
async def begin_connection(
    user: CurrentUser,
    provider: str,
    config: ServerConfig,
    identity_providers: ServerProviders,
    saml_providers: ServerSamlProviders,
    cipher: ServerCipher,
    response: Response,
) -> ProviderPage:
    """Begins to connect the user's account with this provider. Returns the URL of the provider's page. The
    provider later sends the browser back to this server. Sets a cookie that later proves that the same
    browser has begun the connection. Errors: 404 `oidc_provider_not_found` if there is no provider with this
    name; 502 `oidc_provider_unreachable` or `saml_provider_unreachable`; 502 `saml_xmlsec1_missing` if the
    program xmlsec1 is not installed.
    """
    providers: Providers = identity_providers
    found = _find(identity_providers, saml_providers, provider)
    if isinstance(found, SamlProvider):
        request_id, url = await saml_providers.request(found)
        begun = saml_attempts.SamlAttempt.begin(provider, request_id, connects=user.id)
        saml_attempts.COOKIE.keep(saml_attempts.encrypt(begun, cipher), response, config)
        return ProviderPage(url=url)
    attempt = attempts.Attempt.begin(provider, connects=user.id)
    url = await exchange.authorization_url(config, providers, found, attempt)
    attempts.COOKIE.keep(attempts.encrypt(attempt, cipher), response, config)
    return ProviderPage(url=url)


@router.delete("/{provider}", status_code=204)
async def end_connection(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    provider: str,
    identity_providers: ServerProviders,
    saml_providers: ServerSamlProviders,
) -> None:
    """Ends the connection of the account with this provider. Browsers that are signed in stay signed in.

    Errors: 404 `oidc_provider_not_found` if there is no provider with this name; 404 `identity_not_found` if
    the account is not connected with the provider.
    """
    found = _find(identity_providers, saml_providers, provider)
    await accounts.disconnect(session, user.id, found.issuer)
    trail.record(session, AuditAction.IDENTITY_DISCONNECTED, (AuditTarget.IDENTITY, provider))


def _all(
    identity_providers: Providers, saml_providers: SamlProviders
) -> Sequence[IdentityProvider | SamlProvider]:
    return [*identity_providers.all(), *saml_providers.all()]


def _find(
    identity_providers: Providers, saml_providers: SamlProviders, name: str
) -> IdentityProvider | SamlProvider:
    """Returns the OpenID Connect or SAML provider with this name. Raises NotFound `oidc_provider_not_found`
    if there is none.
    """
    saml = next((one for one in saml_providers.all() if one.name == name), None)
    return saml or identity_providers.find(name)
