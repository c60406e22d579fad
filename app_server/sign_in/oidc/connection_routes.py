"""HTTP routes that connect the current user's account with identity providers, so that the user can sign in
by them.
"""

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session, Timestamp
from app_server.core.encryption import ServerCipher
from app_server.core.server_objects import ServerConfig
from app_server.sign_in.oidc import accounts, attempts, exchange
from app_server.sign_in.oidc.discovery import Providers, ServerProviders

router = APIRouter(prefix="/api/v1/identities", tags=["Users"])


class IdentityConnection(BaseModel):
    """A provider, and whether the account is connected with it.

    `connected_at`: null if it is not connected. `email`: the address that the provider has verified; null if
    there is none.
    """

    provider: str
    title: str
    connected_at: Timestamp | None
    email: str | None


class ProviderPage(BaseModel):
    """The provider's page. `url`: where the browser goes to connect the account."""

    url: str


@router.get("")
async def list_connections(
    user: CurrentUser, session: ReadSession, identity_providers: ServerProviders
) -> list[IdentityConnection]:
    """Lists all providers of this installation, connected or not."""
    providers: Providers = identity_providers
    rows = await accounts.connected(session, user.id)
    return [
        IdentityConnection(
            provider=one.name,
            title=one.title,
            connected_at=row.created_at if (row := rows.get(one.issuer)) else None,
            email=row.email if row else None,
        )
        for one in providers.all()
    ]


@router.post("/{provider}")
async def begin_connection(
    user: CurrentUser,
    provider: str,
    config: ServerConfig,
    identity_providers: ServerProviders,
    cipher: ServerCipher,
    response: Response,
) -> ProviderPage:
    """Begins to connect the account with this provider. Sets a cookie with the attempt and returns the
    provider's page; the provider later sends the browser back to the callback.

    404 `oidc_provider_not_found`, 502 `oidc_provider_unreachable`.
    """
    providers: Providers = identity_providers
    found = providers.find(provider)
    attempt = attempts.Attempt.begin(provider, connects=user.id)
    url = await exchange.authorization_url(config, providers, found, attempt)
    attempts.COOKIE.keep(attempts.seal(attempt, cipher), response, config)
    return ProviderPage(url=url)


@router.delete("/{provider}", status_code=204)
async def end_connection(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    provider: str,
    identity_providers: ServerProviders,
) -> None:
    """Ends the connection of the account with this provider. Browsers that are signed in stay signed in.

    404 `oidc_provider_not_found`, `identity_not_found`.
    """
    providers: Providers = identity_providers
    await accounts.disconnect(session, user.id, providers.find(provider).issuer)
    trail.record(session, AuditAction.IDENTITY_DISCONNECTED, (AuditTarget.IDENTITY, provider))
