"""Signs users in to MCP servers by OAuth 2.1 in the user's browser.

The MCP library implements the protocol: discovery, registration, PKCE and the exchange of the authorization
code. A sign-in is a running task in the memory of one app server. This task waits until the browser brings
back the authorization code. So the browser must return to the app server where the sign-in was started.
"""

import asyncio
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit
from uuid import UUID

from agent_runtime.time_limits import time_limit
from app_server.core.errors import AppError, BadGateway, BadRequest, Forbidden, NotFound
from app_server.http.guarded_client import Guard
from app_server.mcp_servers.grants import OAuthGrant, SignedInTo
from app_server.mcp_servers.probe import TIMEOUT_SECONDS, first_cause, innermost, list_tools
from app_server.mcp_servers.scopes import asking

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

MAX_SIGN_INS = 5
"""The maximum number of unfinished sign-ins of one user. If the user starts one more sign-in, the oldest one
ends.
"""
SIGN_IN_SECONDS = 600.0
CLIENT_NAME = "Slipway"
_MAX_ERROR_CHARACTERS = 500


@dataclass(frozen=True)
class AuthorizationResponse:
    """The URL parameters with which the authorization server has sent the user's browser back to Slipway.

    `state`: identifies the sign-in. `code`: the authorization code; None if the sign-in was refused. `error`:
    the reason for the refusal. `iss`: the issuer, which is the address of the authorization server.
    """

    state: str
    code: str | None = None
    error: str | None = None
    iss: str | None = None


@dataclass
class _SignIn:
    user_id: UUID
    server_id: UUID
    url: str
    redirect_uri: str
    guard: Guard | None
    scope: str | None
    address: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    answer: asyncio.Future[AuthorizationResponse] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    task: asyncio.Task[OAuthGrant] | None = None


class SignIns:
    """The unfinished OAuth sign-ins of users to MCP servers, by their `state` parameter. Each sign-in can be
    finished once, by the user who started it, within ten minutes.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _SignIn] = {}
        self._tasks: dict[asyncio.Task[OAuthGrant], UUID] = {}

    async def start(
        self,
        user_id: UUID,
        server_id: UUID,
        url: str,
        redirect_uri: str,
        guard: Guard | None = None,
        scope: str | None = None,
    ) -> str:
        """Starts a sign-in to an MCP server and returns the address that the user's browser must open.

        `url`: the address of the MCP server. `redirect_uri`: the address to which the authorization server
        sends the browser back. `guard`: refuses calls to private addresses; None allows every address.
        `scope`: the OAuth scope to ask for; None means the scope that the server names.

        Raises Forbidden `private_address` if `guard` refuses an address. Raises BadRequest
        `mcp_sign_in_not_wanted` if the server can be used without a sign-in. Raises BadGateway
        `mcp_sign_in_failed` if the sign-in fails for another reason.
        """
        self._give_up_oldest(user_id)
        # The library takes most of a second to load, so a thread loads it.
        await asyncio.to_thread(importlib.import_module, "mcp.client.auth")
        sign_in = _SignIn(user_id, server_id, url, redirect_uri, guard, scope)
        task = sign_in.task = asyncio.create_task(_obtain(sign_in), name=f"mcp sign-in {server_id}")
        self._tasks[task] = user_id
        task.add_done_callback(self._forget)
        either: set[asyncio.Future[object]] = {task, sign_in.address}  # type: ignore[arg-type]
        try:
            await asyncio.wait(either, timeout=TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not sign_in.address.done():
                task.cancel()
        if not sign_in.address.done():
            await asyncio.wait({task})
            raise _failure(task)
        address = sign_in.address.result()
        state = parse_qs(urlsplit(address).query)["state"][0]
        self._waiting[state] = sign_in
        task.add_done_callback(lambda _: self._waiting.pop(state, None))
        return address

    async def finish(self, user_id: UUID, answer: AuthorizationResponse) -> SignedInTo:
        """Finishes a sign-in with the parameters that the browser has brought back. Returns the granted
        tokens and the MCP server that they are for.

        Raises NotFound `mcp_sign_in_not_found` if the user has no unfinished sign-in with this `state`.
        Raises BadRequest `mcp_sign_in_refused` if the sign-in was refused. Raises BadGateway
        `mcp_sign_in_failed` if the authorization server gives no tokens.
        """
        sign_in = self._waiting.get(answer.state)
        if sign_in is None or sign_in.user_id != user_id or sign_in.task is None:
            raise NotFound(
                "This sign-in is not known, is over, or has expired.",
                code="mcp_sign_in_not_found",
                fix="Start it again in the settings.",
            )
        del self._waiting[answer.state]
        if answer.code is None:
            sign_in.task.cancel()
            raise BadRequest(
                f"The sign-in was refused ({(answer.error or 'no code came back')[:_MAX_ERROR_CHARACTERS]}).",
                code="mcp_sign_in_refused",
                fix="Start it again in the settings.",
            )
        sign_in.answer.set_result(answer)
        await asyncio.wait({sign_in.task}, timeout=TIMEOUT_SECONDS)
        if not sign_in.task.done():
            sign_in.task.cancel()
            await asyncio.wait({sign_in.task})
        if sign_in.task.cancelled() or sign_in.task.exception() is not None:
            raise _failure(sign_in.task)
        return SignedInTo(sign_in.server_id, sign_in.url, sign_in.task.result())

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _give_up_oldest(self, user_id: UUID) -> None:
        own = [task for task, one in self._tasks.items() if one == user_id]
        for task in own[: max(0, len(own) + 1 - MAX_SIGN_INS)]:
            task.cancel()

    def _forget(self, task: asyncio.Task[OAuthGrant]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            # Callers that wait for the task get the error. If none waits, the error can be dropped.
            task.exception()


class NotWanted(Exception):
    """The error that is raised when a user signs in to an MCP server that can be used without a sign-in."""


class _Storage:
    """Stores the tokens and the client data of one sign-in in memory, for the MCP library. The storage is
    empty when a sign-in begins, so Slipway registers as a new client for each sign-in.
    """

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> "OAuthToken | None":
        return self._tokens

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        self._tokens = tokens

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        return self._client

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        self._client = client_info


async def _obtain(sign_in: _SignIn) -> OAuthGrant:
    """Signs the user in to an MCP server and returns the granted tokens.

    Requests the list of the server's tools. If the server refuses this request without a sign-in, the MCP
    library carries out the sign-in and repeats the request.
    """
    provider = _provider(sign_in)
    async with time_limit(SIGN_IN_SECONDS):
        auth = asking(provider, sign_in.scope) if sign_in.scope else provider
        await list_tools(sign_in.url, auth=auth, guard=sign_in.guard)
    return _granted(provider)


def _provider(sign_in: _SignIn) -> "OAuthClientProvider":
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    async def redirect(address: str) -> None:
        sign_in.address.set_result(address)

    async def callback() -> "AuthorizationCodeResult":
        answer = await sign_in.answer
        return AuthorizationCodeResult(code=answer.code or "", state=answer.state, iss=answer.iss)

    return OAuthClientProvider(
        server_url=sign_in.url,
        client_metadata=OAuthClientMetadata.model_validate(
            {"client_name": CLIENT_NAME, "redirect_uris": [sign_in.redirect_uri]}
        ),
        storage=_Storage(),
        redirect_handler=redirect,
        callback_handler=callback,
    )


def _granted(provider: "OAuthClientProvider") -> OAuthGrant:
    context = provider.context
    tokens, client = context.current_tokens, context.client_info
    if tokens is None or client is None or client.client_id is None:
        raise NotWanted
    endpoint = context.oauth_metadata.token_endpoint if context.oauth_metadata else None
    base = context.get_authorization_base_url(context.server_url)
    has_resource = context.should_include_resource_param(context.protocol_version)
    return OAuthGrant(
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_at=context.token_expiry_time,
        token_endpoint=str(endpoint) if endpoint else urljoin(base, "/token"),
        resource=context.get_resource_url() if has_resource else None,
        client_id=client.client_id,
        client_secret=client.client_secret,
        client_auth_method=client.token_endpoint_auth_method,
        # A server that names no scope has granted the requested scope (RFC 6749, section 5.1).
        scope=tokens.scope or context.client_metadata.scope,
    )


def _failure(task: "asyncio.Task[OAuthGrant]") -> AppError:
    cause = None if task.cancelled() else task.exception()
    if cause is not None and isinstance(inner := innermost(cause), Forbidden):
        return inner
    if isinstance(cause, NotWanted) or (not task.cancelled() and cause is None):
        return BadRequest(
            "The server answers without a sign-in.",
            code="mcp_sign_in_not_wanted",
            fix="Switch the sign-in off for it, and test it.",
        )
    said = "it did not answer in time" if cause is None else first_cause(cause)
    return BadGateway(
        f"Signing in did not work: {said[:_MAX_ERROR_CHARACTERS]}",
        code="mcp_sign_in_failed",
        fix="Check the URL. A server that lets no clients register needs a token in its headers instead.",
    )
