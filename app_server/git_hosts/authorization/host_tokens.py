"""Provides valid tokens for git hosts. If a sign-in granted a token, renews the token before it expires.

A host may accept a refresh token only once. Therefore an app server reserves the token's row in the database
table of GitGrant before it renews the token. Meanwhile other app servers wait for the new token.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import httpx
from sqlalchemy import or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.time_limits import time_limit
from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.audit.chain import Actor
from app_server.core.background import finish
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError, BadGateway, Forbidden, Unavailable
from app_server.core.server_objects import from_server
from app_server.git.address import Address
from app_server.git.command import Credentials
from app_server.git.credentials import credential_of_origin, credentials_in, credentials_of
from app_server.git.grants import revoke_later
from app_server.git.models import GitCredential, GitGrant, GitOAuthApp
from app_server.git_hosts.authorization.endpoints import OAuthApp
from app_server.git_hosts.authorization.installations import RepositoryTokens, installation_token
from app_server.git_hosts.authorization.token_calls import (
    GrantedTokens,
    TokenRefusal,
    ask_for_tokens,
    refused,
)
from app_server.users.models import User

logger = logging.getLogger(__name__)

RENEW_SECONDS = 25.0
CLAIM_SECONDS = 60.0
_SAVE_SECONDS = CLAIM_SECONDS - RENEW_SECONDS - 5
_LOOK_AGAIN_SECONDS = 0.2
_PAUSE_SECONDS = 60.0
"""If the renewal of a token has failed and the token is still valid, Slipway waits this long before it tries
to renew the token again.
"""


@dataclass(frozen=True)
class _Stored:
    """A copy of a user's token for a git host and of the database rows that belong to the token. Later
    changes in the database do not change the copy. `grant`: the sign-in that granted the token. `app`: the
    OAuth application of this sign-in; None if the application was deleted. `grant` and `app` are None if the
    user has pasted the token.
    """

    row: GitCredential
    grant: GitGrant | None
    app: GitOAuthApp | None
    user: User


class HostTokens:
    """The service that provides the tokens of all users for their git hosts, and renews these tokens. `http`:
    the HTTP client that renews tokens of administrators. `guarded_http`: the HTTP client that renews tokens
    of other users; it refuses private network addresses.
    """

    def __init__(
        self, database: Database, cipher: Cipher, http: httpx.AsyncClient, guarded_http: httpx.AsyncClient
    ) -> None:
        self._database = database
        self._cipher = cipher
        self._http = http
        self._guarded_http = guarded_http
        self._repository_tokens = RepositoryTokens()

    async def credentials(self, user_id: UUID, address: Address) -> Credentials | None:
        """Returns the credentials with which git fetches from this repository and pushes to it for the user.
        Returns None if the user has no credentials for the repository's git host. Also returns None if the
        credentials belong to a GitHub App installation that does not contain the repository. Without
        credentials, git can fetch only public repositories.

        Raises an AppError (for example BadGateway `git_reconnect_needed`) if the token has expired and cannot
        be renewed.
        """
        if given := credentials_in(address):
            async with self._database.read() as session:
                row = await credential_of_origin(session, user_id, str(address.origin))
            return replace(given, authorities=row.certificate_authorities if row else None)
        if address.origin is None:
            return None
        found = await self._valid(user_id, address.origin, None)
        if found is None:
            return None
        stored, token = found
        if stored.grant is not None and stored.grant.installation_id is not None:
            path = str(address.web_url).removeprefix(address.origin)
            of_one = await self._of_repository(stored, path.strip("/").removesuffix(".git"), None)
            return credentials_of(stored.row, of_one) if of_one else None
        return credentials_of(stored.row, token)

    async def token(
        self, user_id: UUID, origin: str, *, refused: str | None = None, repository: str | None = None
    ) -> str | None:
        """Returns a valid token of the user for the git host. Renews the token first if it has expired or
        soon expires. Returns None if the user has no token for this host.

        `refused`: a token that the host has just refused; None if there is none. If this token is still the
        stored one and was granted by a sign-in, it is renewed. `repository`: the full name of the repository
        for which the token is needed. It matters only if the user's token belongs to an installation of a
        GitHub App. If the installation contains the repository, the returned token is valid only for this
        repository. Otherwise the returned token is valid for all repositories of the installation.

        Raises BadGateway `git_reconnect_needed` if the user must sign in to the host again. Raises BadGateway
        `git_sign_in_refused` if the host refuses to renew the token of a sign-in. Raises BadGateway
        `git_app_refused` if GitHub refuses to grant a token of the installation. Raises BadGateway
        `git_host_failed` if the host does not reply. Raises Forbidden `git_installation_not_permitted` if the
        token belongs to an installation and the user is not an administrator. Raises Forbidden
        `private_address` if the host is in a private network.
        """
        found = await self._valid(user_id, origin, refused)
        if found is None:
            return None
        stored, token = found
        if repository and stored.grant is not None and stored.grant.installation_id is not None:
            return await self._of_repository(stored, repository, refused) or token
        return token

    async def _of_repository(self, stored: _Stored, repository: str, refused: str | None) -> str | None:
        """Returns a token that is valid for one repository of a GitHub App's installation. Returns None if
        the repository is not part of the installation. `stored`: the user's token with its rows in the
        database. `repository`: the full name of the repository. `refused`: a token that GitHub has refused
        and that must not be returned again; None if there is none.
        """
        assert stored.grant is not None
        assert stored.grant.installation_id is not None
        if stored.app is None:
            raise _reconnect(stored.row)
        return await self._repository_tokens.token(
            self._http_of(stored.user),
            OAuthApp.of(stored.app, self._cipher),
            stored.grant.installation_id,
            stored.row.id,
            repository,
            refused=refused,
        )

    async def _valid(self, user_id: UUID, origin: str, refused: str | None) -> tuple[_Stored, str] | None:
        while True:
            stored = await self._stored(user_id, origin)
            if stored is None:
                return None
            token = self._cipher.decrypt(stored.row.token_encrypted)
            grant = stored.grant
            if grant is not None and grant.installation_id and not stored.user.administers_installation:
                raise _not_permitted(stored.row)
            if grant is None or not (token == refused or _is_past(grant.renew_at)):
                return stored, token
            is_usable = token != refused and not _is_past(grant.expires_at)
            if grant.is_refused or stored.app is None or not _is_renewable(grant):
                if is_usable:
                    return stored, token
                if not grant.is_refused:
                    await self._end(stored, "no refresh token" if stored.app else "no application")
                raise _reconnect(stored.row)
            if await self._change(grant, _is_free(), claimed_until=_later(CLAIM_SECONDS)):
                # Once requested, the new tokens must be saved, even if the caller has gone.
                renewed = await finish(self._renew(stored, grant, token if is_usable else None))
                return stored, renewed
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _stored(self, user_id: UUID, origin: str) -> _Stored | None:
        # One statement: if another server renewed the token between two, an old token would have a new grant.
        statement = (
            select(GitCredential, GitGrant, GitOAuthApp, User)
            .join(User, User.id == GitCredential.user_id)
            .outerjoin(GitGrant, GitGrant.credential_id == GitCredential.id)
            .outerjoin(GitOAuthApp, GitOAuthApp.id == GitGrant.app_id)
            .where(GitCredential.user_id == user_id, GitCredential.origin == origin)
        )
        async with self._database.read() as session:
            found = (await session.execute(statement)).one_or_none()
        return None if found is None else _Stored(*found)

    async def _renew(self, stored: _Stored, grant: GitGrant, usable: str | None) -> str:
        """Renews a token that a sign-in granted, and returns the new token. The caller must have reserved the
        row `grant`, so that no other app server renews the token. `usable`: the present token if it is still
        valid, otherwise None. If the renewal fails, returns `usable`, or raises an AppError if `usable` is
        None.
        """
        assert stored.app is not None
        app = OAuthApp.of(stored.app, self._cipher)
        encrypted = grant.refresh_token_encrypted
        refresh_token = self._cipher.decrypt(encrypted) if encrypted else None
        # While the current token is valid, calls do not wait for a host that does not answer.
        given_up: dict[str, datetime | None] = {"claimed_until": None}
        if usable is not None:
            given_up["renew_at"] = _later(_PAUSE_SECONDS)
        try:
            # This must end before the claim does, or another server would send the same refresh token.
            async with time_limit(RENEW_SECONDS):
                granted = await self._ask(stored, app, grant.installation_id, refresh_token)
        except TokenRefusal as refusal:
            if refusal.ends_grant:
                await self._end(stored, refusal.error)
                error: AppError = _reconnect(stored.row)
            else:
                await self._change(grant, **given_up)
                error = refused(app, refusal)
            logger.warning("a git host renews no token: %s", refusal.error, extra={"host": app.host})
        except TimeoutError:
            await self._change(grant, **given_up)
            error = BadGateway(f"{app.host} did not renew the token in time.", code="git_host_failed")
        except AppError as failure:
            await self._change(grant, **given_up)
            error = failure
        else:
            if not await self._save(stored, grant, granted, refresh_token):
                raise _reconnect(stored.row)  # the user has disconnected meanwhile
            return granted.access_token
        if usable is None:
            raise error
        return usable

    async def _ask(
        self, stored: _Stored, app: OAuthApp, installation_id: str | None, refresh_token: str | None
    ) -> GrantedTokens:
        http = self._http_of(stored.user)
        if installation_id is not None:
            granted = await installation_token(http, app, installation_id)
            assert granted is not None
            return granted
        assert refresh_token is not None
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await ask_for_tokens(http, app, form)

    def _http_of(self, user: User) -> httpx.AsyncClient:
        return self._http if user.administers_installation else self._guarded_http

    async def _save(
        self, stored: _Stored, grant: GitGrant, granted: GrantedTokens, refresh_token: str | None
    ) -> bool:
        """Stores the renewed tokens and returns True. Does not store them if the user has disconnected from
        the git host, or has signed in again, since the renewal began. In this case, adds a background job
        that revokes the new token, and returns False.

        `granted`: the renewed tokens. `refresh_token`: the old refresh token, which is stored again if the
        host has granted no new one.

        If the database does not reply, tries again to store the tokens for at most _SAVE_SECONDS, and then
        raises the database's error. Without these attempts the new tokens could be lost, and the host may no
        longer accept the old refresh token.
        """
        deadline = asyncio.get_running_loop().time() + _SAVE_SECONDS
        while True:
            try:
                async with self._database.session() as session:
                    is_saved = await self._save_once(session, stored, grant, granted, refresh_token)
            except (SQLAlchemyError, OSError, Unavailable):
                if asyncio.get_running_loop().time() > deadline:
                    raise
                logger.warning("a renewed token of a git host could not be stored; it is tried again")
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            else:
                return is_saved

    async def _save_once(
        self,
        session: AsyncSession,
        stored: _Stored,
        grant: GitGrant,
        granted: GrantedTokens,
        refresh_token: str | None,
    ) -> bool:
        # If no new refresh token is sent, the old one stays valid.
        newest = granted.refresh_token or refresh_token
        encrypted = self._cipher.encrypt(newest) if newest else None
        is_same = await self._change_in(
            session,
            grant,
            refresh_token_encrypted=encrypted,
            scopes=granted.scopes or grant.scopes,
            expires_at=granted.expires_at,
            renew_at=granted.renew_at,
            claimed_until=None,
            version=grant.version + 1,
        )
        token = self._cipher.encrypt(granted.access_token)
        if is_same:
            statement = update(GitCredential).where(GitCredential.id == stored.row.id)
            await session.execute(statement.values(token_encrypted=token))
        else:
            await revoke_later(session, stored.row, grant, token)
        return is_same

    async def _end(self, stored: _Stored, why: str) -> None:
        """Marks a token in the database as no longer renewable, so that the user must connect to the git host
        again. Adds an entry to the audit log. `stored`: the token with its database rows. `why`: the reason.
        """
        assert stored.grant is not None
        user = stored.user
        async with self._database.session() as session:
            if not await self._change_in(session, stored.grant, is_refused=True, claimed_until=None):
                return
            trail = AuditTrail(Actor(ActorMeans.SERVER, user_id=user.id, name=user.name))
            trail.record(
                session,
                AuditAction.GIT_TOKEN_RENEWAL_REFUSED,
                (AuditTarget.GIT_HOST, stored.row.origin),
                outcome=AuditOutcome.REFUSED,
                reason=why,
            )

    async def _change(self, grant: GitGrant, *conditions: Any, **values: Any) -> bool:
        async with self._database.session() as session:
            return await self._change_in(session, grant, *conditions, **values)

    async def _change_in(
        self, session: AsyncSession, grant: GitGrant, *conditions: Any, **values: Any
    ) -> bool:
        """Updates the row of a grant (a sign-in that granted a token) with new values, and returns True.
        Returns False and changes nothing if the row no longer equals `grant`, because the token was renewed
        or the user has signed in again. Does the same if the row is marked as no longer renewable, or if one
        of `conditions` is false.

        `conditions`: further SQL conditions for the row. `values`: the new values, by name of the column.
        """
        statement = update(GitGrant).where(
            GitGrant.credential_id == grant.credential_id,
            GitGrant.version == grant.version,
            GitGrant.installation_id.is_not_distinct_from(grant.installation_id),
            GitGrant.is_refused.is_(False),
            GitGrant.refresh_token_encrypted.is_not_distinct_from(grant.refresh_token_encrypted),
            *conditions,
        )
        result = await session.execute(statement.values(**values).returning(GitGrant.credential_id))
        return result.scalar_one_or_none() is not None


ServerGitTokens = Annotated[HostTokens, from_server("git_tokens")]


def _is_free() -> Any:
    """Returns the SQL condition that is true for GitGrant rows whose tokens no app server is renewing now."""
    return or_(GitGrant.claimed_until.is_(None), GitGrant.claimed_until < now())


def _is_renewable(grant: GitGrant) -> bool:
    return grant.refresh_token_encrypted is not None or grant.installation_id is not None


def _is_past(moment: datetime | None) -> bool:
    return moment is not None and moment <= now()


def _later(seconds: float) -> datetime:
    return now() + timedelta(seconds=seconds)


def _not_permitted(row: GitCredential) -> AppError:
    host = row.origin.removeprefix("https://")
    return Forbidden(
        f"Only administrators may use the installation of a GitHub App at {host}.",
        code="git_installation_not_permitted",
        fix="Sign in to the host in the settings, under Git hosts.",
    )


def _reconnect(row: GitCredential) -> AppError:
    host = row.origin.removeprefix("https://")
    return BadGateway(
        f"The connection to {host} has expired or was revoked.",
        code="git_reconnect_needed",
        fix="Connect it again in the settings, under Git hosts.",
    )
