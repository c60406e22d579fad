"""Completes the sign-in by any identity provider: creates a one-time link with which the browser signs in, or
connects the identity with an existing account.
"""

from uuid import UUID

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail, address_of
from app_server.access.authentication import account_disabled
from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.config import Config
from app_server.core.identity_providers import SignInProvider
from app_server.core.pubsub import LOOK, publish_after_commit
from app_server.sign_in.identities import accounts
from app_server.sign_in.identities.identity import ProviderIdentity
from app_server.sign_in.service import LinkOrigin, create_link
from app_server.users.models import User

SIGN_IN_PAGE = "sign-in"
CONNECTIONS_PAGE = "settings/browsers"
"""The page where a user connects the account with an identity provider: a path below the base URL."""


def page_for(connects: UUID | None) -> str:
    """Returns the path of the Slipway page that the browser opens after a sign-in at a provider: the page for
    connections if an account is being connected with the provider, otherwise the sign-in page. `connects`:
    the id of the user whose account is being connected; None means an ordinary sign-in.
    """
    return CONNECTIONS_PAGE if connects else SIGN_IN_PAGE


def back_to(config: Config, page: str, outcome: str) -> Response:
    """Returns a redirect to a page of the Slipway front end. `outcome`: the fragment of the page's URL that
    says how the sign-in ended, such as `refused=CODE`.
    """
    return RedirectResponse(f"{config.base_url}/{page}#{outcome}", status_code=303)


async def complete(
    session: AsyncSession,
    request: Request,
    provider: SignInProvider,
    identity: ProviderIdentity,
    connects: UUID | None,
) -> str:
    """Completes a sign-in at a provider. Returns the URL fragment with which the browser opens the next page
    of Slipway: `token=…` with a one-time token, or `connected=NAME` if an account was connected with the
    provider NAME. `connects`: the user whose account is to be connected; None means an ordinary sign-in.

    Raises Forbidden if the person may not get an account. Raises Conflict if the identity cannot be connected
    with the account, or if a team of the person is full. Raises NotAuthenticated `account_disabled` if the
    account is disabled.
    """
    if connects is None:
        return f"token={await _link_for(session, request, provider, identity)}"
    await accounts.connect(session, provider, identity, connects)
    user = await session.get_one(User, connects)
    actor = Actor(ActorMeans.PROVIDER, user_id=connects, name=user.name, address=address_of(request))
    target = (AuditTarget.IDENTITY, provider.name)
    AuditTrail(actor).record(session, AuditAction.IDENTITY_CONNECTED, target)
    return f"connected={provider.name}"


async def _link_for(
    session: AsyncSession, request: Request, provider: SignInProvider, identity: ProviderIdentity
) -> str:
    user, known = await accounts.account_of(session, provider, identity, address_of(request))
    if user.disabled_at is not None:
        raise account_disabled()
    await session.flush()
    if provider.teams:
        # The teams may have changed, and with them what other open pages of this person show.
        publish_after_commit(session, request.state.pubsub, user.id, [LOOK])
    return await create_link(
        session, user.id, origin=LinkOrigin(identity_id=known.id, provider_session=identity.session)
    )
