"""Stores the OAuth tokens that authorization servers grant for MCP servers. The tokens are stored encrypted,
and they are renewed when they expire.

An authorization server may accept a refresh token only once. Therefore an app server reserves the stored
tokens in the database before it renews them. Other app servers wait for the new tokens.
"""

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import ColumnElement, or_, update
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.time_limits import time_limit
from app_server.core.background import finish
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import BadGateway, Forbidden
from app_server.http.bounded_body import IDENTITY, read_body
from app_server.http.guarded_client import bound_to
from app_server.mcp_servers.models import McpGrant
from app_server.mcp_servers.scopes import union

RENEW_SECONDS = 20.0
MAX_TOKEN_BYTES = 1024**2
CLAIM_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.2
_EXPIRES_EARLY_SECONDS = 30.0
"""A token counts as expired this many seconds before it expires, because it must still be valid when a call
with it arrives.
"""


class OAuthGrant(BaseModel):
    """The OAuth tokens that an authorization server has granted for an MCP server, and the data to renew
    them.

    `expires_at`: seconds since 1970; None if the authorization server has not given a time. `token_endpoint`:
    the address where the tokens are renewed. `resource`: the MCP server's address, which is sent with the
    request to renew the tokens (RFC 8707); None if no address is sent. `client_id`, `client_secret`:
    Slipway's registration at the authorization server. `client_auth_method`: how Slipway authenticates at the
    token endpoint. `scope`: the permissions of the tokens; None if they are not known.

    `wanted_scope`: the scope that the next sign-in must ask for. It is set when the MCP server refuses a call
    because the tokens lack a permission; before that, it is None. It also contains the permissions of the
    tokens. It is empty if no permission is known.
    """

    model_config = ConfigDict(frozen=True)

    access_token: str
    refresh_token: str | None
    expires_at: float | None
    token_endpoint: str
    resource: str | None
    client_id: str
    client_secret: str | None
    client_auth_method: str | None
    scope: str | None = None
    wanted_scope: str | None = None

    @property
    def is_fresh(self) -> bool:
        return self.expires_at is None or time.time() < self.expires_at - _EXPIRES_EARLY_SECONDS


@dataclass(frozen=True)
class SignedInTo:
    """The result of a finished sign-in: the granted tokens, and the id and the address of the MCP server that
    they are for.
    """

    server_id: UUID
    url: str
    grant: OAuthGrant


class _TokenReply(BaseModel):
    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None


class SignInNeeded(BadGateway):
    """The error that is raised when the user is not signed in to an MCP server, or when the sign-in has
    expired.
    """

    code = "mcp_sign_in_needed"


async def save_grant(session: AsyncSession, cipher: Cipher, server_id: UUID, grant: OAuthGrant) -> None:
    """Stores the tokens of a sign-in to an MCP server. They replace earlier tokens for this server."""
    await session.merge(
        McpGrant(
            server_id=server_id,
            grant_encrypted=cipher.encrypt(grant.model_dump_json()),
            is_refused=False,
            claimed_until=None,
        )
    )
    await session.flush()


class Grants:
    """Returns users' OAuth access tokens for MCP servers from the database, and renews expired tokens."""

    def __init__(self, database: Database, cipher: Cipher) -> None:
        self._database = database
        self._cipher = cipher

    async def access_token(
        self, http: httpx.AsyncClient, server_id: UUID, name: str, url: str, *, refused: str | None = None
    ) -> str:
        """Returns a valid access token for an MCP server. Renews the stored token first if it has expired or
        was refused.

        `http`: the HTTP client for this user's calls. `name`: the server's name for error messages. `url`:
        the server's address. `refused`: a token that the server has refused; this token is not returned, even
        if it has not expired. None if no token was refused.

        Raises SignInNeeded if there is no token or it cannot be renewed. Raises BadGateway
        `mcp_sign_in_unreachable` if the token endpoint (the address where tokens are renewed) does not reply
        correctly. Raises Forbidden `private_address` if the token endpoint has a private address that `http`
        does not allow. `http` allows at most private addresses with the same scheme, host and port as `url`.
        """
        while True:
            row = await self._row(server_id)
            if row is None or row.is_refused:
                raise _needed(name)
            grant = OAuthGrant.model_validate_json(self._cipher.decrypt(row.grant_encrypted))
            if grant.is_fresh and grant.access_token != refused:
                return grant.access_token
            if grant.refresh_token is None:
                await self._end(row)
                raise _needed(name)
            if await self._claim(row):
                # Once requested, the new tokens must be saved, even if the caller has gone.
                return await finish(self._renew(http, row, grant, name, url))
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def want(self, server_id: UUID, scope: str) -> None:
        """Stores the OAuth scope that the MCP server has asked for when it refused a call, so that the next
        sign-in asks for it too. `scope`: empty if the server has named no scope.

        Until the next sign-in, calls continue to use the stored tokens. Does nothing if no tokens are stored
        for the server.
        """
        while (row := await self._row(server_id)) is not None:
            grant = OAuthGrant.model_validate_json(self._cipher.decrypt(row.grant_encrypted))
            wanted = union(grant.scope, grant.wanted_scope, scope)
            if grant.wanted_scope == wanted:
                return
            updated = grant.model_copy(update={"wanted_scope": wanted})
            # A grant must not change while it is renewed.
            if await self._change(
                row, _is_free(), grant_encrypted=self._cipher.encrypt(updated.model_dump_json())
            ):
                return
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _row(self, server_id: UUID) -> McpGrant | None:
        async with self._database.read() as session:
            return await session.get(McpGrant, server_id)

    async def _claim(self, row: McpGrant) -> bool:
        until = now() + timedelta(seconds=CLAIM_SECONDS)
        return await self._change(row, _is_free(), claimed_until=until)

    async def _end(self, row: McpGrant) -> None:
        await self._change(row, is_refused=True, claimed_until=None)

    async def _change(self, row: McpGrant, *conditions: Any, **values: Any) -> bool:
        """Updates the database row of a user's sign-in to an MCP server with `values`. Does not update the
        row if the tokens were replaced after `row` was read, or if one of the SQL `conditions` does not hold.
        Returns whether the row was updated.
        """
        statement = update(McpGrant).where(
            McpGrant.server_id == row.server_id,
            McpGrant.grant_encrypted == row.grant_encrypted,
            *conditions,
        )
        async with self._database.session() as session:
            result = await session.execute(statement.values(**values).returning(McpGrant.server_id))
            return result.scalar_one_or_none() is not None

    async def _renew(
        self, http: httpx.AsyncClient, row: McpGrant, grant: OAuthGrant, name: str, url: str
    ) -> str:
        try:
            # This must end before the claim does, or another server would send the same refresh token.
            async with (
                time_limit(RENEW_SECONDS),
                http.stream(
                    "POST",
                    grant.token_endpoint,
                    data=_form(grant),
                    auth=_client_auth(grant),
                    headers={"Accept": "application/json", **IDENTITY},
                    follow_redirects=False,
                    extensions=bound_to(url),
                ) as reply,
            ):
                content = await read_body(reply, MAX_TOKEN_BYTES, RENEW_SECONDS)
        except (httpx.HTTPError, TimeoutError) as error:
            await self._change(row, claimed_until=None)
            raise _unreachable(name, type(error).__name__) from error
        except Forbidden:
            await self._change(row, claimed_until=None)
            raise
        if reply.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            await self._end(row)
            raise _needed(name)
        try:
            reply.raise_for_status()
            tokens = _TokenReply.model_validate_json(content)
        except (httpx.HTTPError, ValidationError) as error:
            await self._change(row, claimed_until=None)
            raise _unreachable(name, f"HTTP {reply.status_code}") from error
        renewed = grant.model_copy(
            update={
                "access_token": tokens.access_token,
                # If no new refresh token is sent, the old one stays valid.
                "refresh_token": tokens.refresh_token or grant.refresh_token,
                "expires_at": expiry(tokens.expires_in),
            }
        )
        encrypted = self._cipher.encrypt(renewed.model_dump_json())
        await self._change(row, grant_encrypted=encrypted, claimed_until=None)
        return renewed.access_token


def _is_free() -> ColumnElement[bool]:
    """Returns the SQL condition that is true for a row if no app server is renewing the tokens of the row at
    this moment.
    """
    return or_(McpGrant.claimed_until.is_(None), McpGrant.claimed_until < now())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def expiry(expires_in: float | None) -> float | None:
    """Returns the time at which a token expires, in seconds since 1970. `expires_in`: seconds from now.
    Returns None if `expires_in` is None.
    """
    return None if expires_in is None else time.time() + expires_in


def _form(grant: OAuthGrant) -> dict[str, str]:
    """Returns the form fields of the request with which Slipway gets new tokens from the token endpoint (RFC
    6749, section 6, and RFC 8707). The client secret is included if it is not sent in a header.
    """
    form = {
        "grant_type": "refresh_token",
        "refresh_token": grant.refresh_token,
        "client_id": grant.client_id,
        "resource": grant.resource,
        "client_secret": None if _says_who_in_header(grant) else grant.client_secret,
    }
    return {name: value for name, value in form.items() if value is not None}


def _client_auth(grant: OAuthGrant) -> httpx.Auth:
    """Returns the HTTP authentication with which Slipway identifies itself when it renews tokens (RFC 6749,
    section 2.3.1). If the authorization server expects HTTP Basic, this is a header with Slipway's client id
    and secret. Otherwise it adds nothing, because the request's form contains the id and, if there is one,
    the secret (see `_form`).
    """
    if not _says_who_in_header(grant):
        return httpx.Auth()
    return httpx.BasicAuth(quote(grant.client_id, safe=""), quote(grant.client_secret or "", safe=""))


def _says_who_in_header(grant: OAuthGrant) -> bool:
    return grant.client_secret is not None and grant.client_auth_method == "client_secret_basic"


def _needed(name: str) -> SignInNeeded:
    return SignInNeeded(
        f"The sign-in to the MCP server {name!r} is missing or has expired.",
        fix="Connect it again in the settings.",
    )


def _unreachable(name: str, cause: str) -> BadGateway:
    return BadGateway(
        f"The sign-in to the MCP server {name!r} could not be renewed ({cause}).",
        code="mcp_sign_in_unreachable",
        fix="Try again in a moment; if that does not help, connect it again in the settings.",
    )
