"""Routes for administrators: the applications with which users sign in to git hosts."""

from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import Cipher
from app_server.core.errors import NotFound
from app_server.git.models import GitOAuthApp
from app_server.git_hosts.authorization.schemas import GitAppInfo, GitApps, SaveGitApp

router = APIRouter(prefix="/api/v1/administration/git-apps", tags=["Administration"])

CALLBACK_PAGE = "/settings/git-hosts/callback"


def callback_url(request: Request) -> str:
    """Returns the address of our page to which hosts send browsers back, at the host name that the browser
    uses.
    """
    config: Config = request.state.config
    base = config.base_url if config.public_url else str(request.base_url).rstrip("/")
    return base + CALLBACK_PAGE


async def all_apps(session: AsyncSession) -> list[GitOAuthApp]:
    """Returns all registered applications, sorted by host."""
    return list(await session.scalars(select(GitOAuthApp).order_by(GitOAuthApp.origin)))


async def require_app(session: AsyncSession, app_id: UUID) -> GitOAuthApp:
    """Returns an application. Raises NotFound `git_app_not_found`."""
    row = await session.get(GitOAuthApp, app_id)
    if row is None:
        raise NotFound("There is no such application.", code="git_app_not_found")
    return row


@router.get("")
async def list_git_apps(session: ReadSession, request: Request) -> GitApps:
    """Returns the registered applications without their secrets, sorted by host, and the callback address
    that is to be stated at the hosts.
    """
    url = callback_url(request)
    return GitApps(callback_url=url, apps=[GitAppInfo.of(row, url) for row in await all_apps(session)])


@router.post("", status_code=201)
async def save_git_app(
    trail: CurrentTrail, session: Session, body: SaveGitApp, request: Request
) -> GitAppInfo:
    """Registers an application, or replaces the one of the same host. Secrets that are left out are removed.
    Users who have signed in with an application whose client_id changes have to connect again.
    """
    cipher: Cipher = request.state.cipher
    row = await session.scalar(select(GitOAuthApp).where(GitOAuthApp.origin == body.host))
    if row is None:
        row = GitOAuthApp(origin=body.host)
        session.add(row)
    row.provider, row.client_id, row.scopes = body.provider, body.client_id, body.scopes
    row.api_url, row.sign_in_url = body.api_url, body.sign_in_url
    secret, key = body.client_secret, body.private_key
    row.client_secret_encrypted = cipher.encrypt(secret.get_secret_value()) if secret else None
    row.private_key_encrypted = cipher.encrypt(key.get_secret_value()) if key else None
    await session.flush()
    trail.record(
        session,
        AuditAction.GIT_APP_CHANGED,
        (AuditTarget.GIT_HOST, body.host),
        client_id=body.client_id,
        has_private_key=key is not None,
    )
    return GitAppInfo.of(row, callback_url(request))


@router.delete("/{app_id}", status_code=204)
async def delete_git_app(trail: CurrentTrail, session: Session, app_id: UUID) -> None:
    """Deletes an application. Tokens that users have signed in for stay until they expire; then their users
    have to connect again or paste a token.

    404 `git_app_not_found`.
    """
    row = await require_app(session, app_id)
    await session.delete(row)
    trail.record(session, AuditAction.GIT_APP_DELETED, (AuditTarget.GIT_HOST, row.origin))
