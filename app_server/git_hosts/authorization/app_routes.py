"""Routes with which administrators register the OAuth applications and GitHub Apps with which users sign in
to git hosts.
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.database import Database, ReadSession, ServerDatabase, Session
from app_server.core.encryption import ServerCipher
from app_server.core.errors import Conflict, NotFound
from app_server.git.grants import renew_authorities
from app_server.git.models import GitOAuthApp
from app_server.git.schemas import GitCredentialInfo
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.installations import (
    Installation,
    installation_token,
    installations_of,
)
from app_server.git_hosts.authorization.schemas import GitAppInfo, GitApps, SaveGitApp
from app_server.git_hosts.authorization.sign_in import connect
from app_server.users.outgoing import http_of

router = APIRouter(prefix="/api/v1/administration/git-apps", tags=["Administration"])

InstallationId = Annotated[str, Path(pattern=r"^[0-9]{1,18}$")]

CALLBACK_PAGE = "/settings/git-hosts/callback"


def callback_url(request: Request) -> str:
    """Returns the address of the Slipway page to which git hosts send browsers back after a sign-in. The
    address begins with the configured public URL; if none is configured, with the address that the browser
    used for this request.
    """
    config: Config = request.state.config
    base = config.base_url if config.public_url else str(request.base_url).rstrip("/")
    return base + CALLBACK_PAGE


async def all_apps(session: AsyncSession) -> list[GitOAuthApp]:
    """Returns all registered OAuth applications and GitHub Apps, sorted by git host."""
    return list(await session.scalars(select(GitOAuthApp).order_by(GitOAuthApp.origin)))


async def require_app(session: AsyncSession, app_id: UUID) -> GitOAuthApp:
    """Returns the registered OAuth application or GitHub App with this id. Raises NotFound
    `git_app_not_found` if there is none.
    """
    row = await session.get(GitOAuthApp, app_id)
    if row is None:
        raise NotFound("There is no such application.", code="git_app_not_found")
    return row


async def app_with_secrets(request: Request, app_id: UUID) -> OAuthApp:
    """Reads the OAuth application or GitHub App with this id and returns it with its secrets decrypted.
    `request`: gives access to the database and to the cipher. Raises NotFound `git_app_not_found` if there is
    no such application.
    """
    database: Database = request.state.database
    async with database.read() as session:  # it ends before the host is asked
        return OAuthApp.of(await require_app(session, app_id), request.state.cipher)


@router.get("")
async def list_git_apps(session: ReadSession, request: Request) -> GitApps:
    """Returns the registered OAuth applications and GitHub Apps without their secrets, sorted by host. Also
    returns the callback address that an administrator must enter at the git hosts.
    """
    url = callback_url(request)
    return GitApps(callback_url=url, apps=[GitAppInfo.of(row, url) for row in await all_apps(session)])


@router.post("", status_code=201)
async def save_git_app(
    trail: CurrentTrail, session: Session, body: SaveGitApp, cipher: ServerCipher, request: Request
) -> GitAppInfo:
    """Registers an OAuth application or GitHub App. If an application is already registered for the same git
    host, replaces it. Stored secrets that the request does not contain are removed. If the client_id changes,
    users who have signed in with the application must sign in to the git host again. If the certificate
    authorities change, the new ones are copied to the stored tokens of the users who have signed in with the
    application. Returns the application without its secrets.

    409 `git_app_exists` if another request registers an application for this host at the same moment.
    """
    row = await session.scalar(select(GitOAuthApp).where(GitOAuthApp.origin == body.host))
    if row is None:
        row = GitOAuthApp(origin=body.host)
        session.add(row)
    row.provider, row.client_id, row.scopes = body.provider, body.client_id, body.scopes
    row.api_url, row.sign_in_url = body.api_url, body.sign_in_url
    authorities = body.certificate_authorities or None
    has_other_authorities = row.certificate_authorities != authorities
    row.certificate_authorities = authorities
    secret, key = body.client_secret, body.private_key
    row.client_secret_encrypted = cipher.encrypt(secret.get_secret_value()) if secret else None
    row.private_key_encrypted = cipher.encrypt(key.get_secret_value()) if key else None
    try:
        await session.flush()
        if has_other_authorities:
            await renew_authorities(session, row)
    except IntegrityError as error:
        raise Conflict(
            "An application for this host was registered at the same moment.",
            code="git_app_exists",
            fix="Try again: that replaces it.",
        ) from error
    trail.record(
        session,
        AuditAction.GIT_APP_CHANGED,
        (AuditTarget.GIT_HOST, body.host),
        client_id=body.client_id,
        has_private_key=key is not None,
    )
    return GitAppInfo.of(row, callback_url(request))


@router.get("/{app_id}/installations")
async def list_installations(
    principal: CurrentPrincipal, app_id: UUID, request: Request
) -> list[Installation]:
    """Returns at most 100 installations of a GitHub App, in GitHub's order. An installation gives the app
    access to repositories of one user or organisation. An administrator can choose one of the returned
    installations with use_installation.

    404 `git_app_not_found` if there is no application with this id. 409 `git_app_has_no_key` if the
    application has no private key. 502 `git_app_refused` if GitHub refuses the application. 502
    `git_host_failed` if GitHub does not reply.
    """
    app = await app_with_secrets(request, app_id)
    return await installations_of(http_of(request, principal.user), app)


@router.post("/{app_id}/installations/{installation_id}/use")
async def use_installation(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    app_id: UUID,
    installation_id: InstallationId,
    database: ServerDatabase,
    cipher: ServerCipher,
    request: Request,
) -> GitCredentialInfo:
    """Stores an installation of a GitHub App as the current administrator's credential for the git host, in
    place of the credential that was stored for this host. Returns the credential without its token.

    Agents of this administrator then act as the GitHub App. Each token that they use is valid for one hour
    and one repository.

    404 `git_app_not_found` if there is no application with this id. 409 `git_app_has_no_key` if the
    application has no private key. 502 `git_app_refused` if GitHub refuses the application. 502
    `git_host_failed` if GitHub does not reply.
    """
    app = await app_with_secrets(request, app_id)
    granted = await installation_token(http_of(request, principal.user), app, installation_id)
    assert granted is not None
    async with database.session() as session:
        row, grant = await connect(
            session,
            cipher,
            principal.user.id,
            app,
            granted,
            installation_id=installation_id,
        )
        target = (AuditTarget.GIT_HOST, app.origin)
        trail.record(
            session,
            AuditAction.GIT_HOST_CONNECTED,
            target,
            scopes=grant.scopes,
            installation_id=installation_id,
        )
        return GitCredentialInfo.of(row, grant)


@router.delete("/{app_id}", status_code=204)
async def delete_git_app(trail: CurrentTrail, session: Session, app_id: UUID) -> None:
    """Deletes a registered OAuth application or GitHub App. Tokens that users got by signing in with this
    application remain valid until they expire. Then these users must sign in with another application or
    paste a token.

    404 `git_app_not_found` if there is no application with this id.
    """
    row = await require_app(session, app_id)
    await session.delete(row)
    trail.record(session, AuditAction.GIT_APP_DELETED, (AuditTarget.GIT_HOST, row.origin))
