"""Signs a user in to an MCP server by OAuth 2.1. The user's browser may run on another machine.

The MCP library implements the protocol (discovery, registration, PKCE, refresh). This module passes two URLs
between the library and the user. First the user gets the library's sign-in URL and opens it in a browser.
After the sign-in, the browser is redirected to a second URL, which the library gets.

The results are the tokens, the client registration and the expiry time. A client of the agent server gets
them as `oauth_state` and stores them.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from agent_runtime.tools.mcp.scopes import SignInNeededError, with_scope

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import AuthorizationCodeResult
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

OAUTH2 = "oauth2"
REDIRECT_URI = "http://localhost:33418/callback"
CLIENT_NAME = "Slipway"


class CallbackError(Exception):
    """The error that is raised when a sign-in cannot be completed with the URL to which the browser was
    redirected. The text says why.
    """


class OAuthState:
    """The OAuth tokens and the client registration of one sign-in, in memory. The MCP library reads and
    writes these data. A client of the agent server stores them permanently, as the JSON that `to_wire`
    returns.
    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._tokens: dict[str, Any] | None = (given or {}).get("tokens")
        self._client: dict[str, Any] | None = (given or {}).get("client_info")
        self.expires_at: float | None = (given or {}).get("token_expires_at")

    def to_wire(self) -> dict[str, Any] | None:
        if self._tokens is None:
            return None
        return {
            "tokens": self._tokens,
            "client_info": self._client,
            "token_expires_at": self.expires_at,
        }

    async def get_tokens(self) -> "OAuthToken | None":
        from mcp.shared.auth import OAuthToken

        if self._tokens is None:
            return None
        tokens = OAuthToken.model_validate(self._tokens)
        if self.expires_at is not None:
            tokens.expires_in = int(self.expires_at - time.time())
        return tokens

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        self._tokens = tokens.model_dump(mode="json", exclude_none=True)
        self.expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        from mcp.shared.auth import OAuthClientInformationFull

        return None if self._client is None else OAuthClientInformationFull.model_validate(self._client)

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        self._client = client_info.model_dump(mode="json", exclude_none=True)


class SignIn:
    """The sign-in of one person to an MCP server. The person's browser opens `authorization_url`. Then
    `answer` gets the URL to which the browser was redirected.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.authorization_url: asyncio.Future[str] = loop.create_future()
        self._answer: asyncio.Future[str] = loop.create_future()

    @property
    def is_answered(self) -> bool:
        return self._answer.done()

    def answer(self, callback_url: str) -> None:
        """Completes the sign-in with the URL to which the browser was redirected. Raises CallbackError if the
        URL reports an error or contains no code. Only the first valid URL is used.
        """
        query = parse_qs(urlsplit(callback_url).query)
        if "error" in query:
            raise CallbackError(query.get("error_description", query["error"])[0][:500])
        if "code" not in query:
            raise CallbackError("The address has no `code`: copy it whole.")
        if not self._answer.done():
            self._answer.set_result(callback_url)

    async def redirect(self, url: str) -> None:
        if self.authorization_url.done():
            raise SignInNeededError("It wants more than this sign-in has asked for.")
        self.authorization_url.set_result(url)

    async def callback(self) -> "AuthorizationCodeResult":
        from mcp.client.auth import AuthorizationCodeResult

        query = parse_qs(urlsplit(await self._answer).query)
        first = {name: values[0] for name, values in query.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


def oauth(
    url: str, auth: Mapping[str, Any], state: OAuthState, sign_in: SignIn | None = None
) -> "httpx2.Auth":
    """Returns an HTTP authentication that adds the access token to requests and renews the token.

    `url`: the URL of the MCP server. `auth`: the field `auth` of the MCP server's configuration. `state`: the
    stored tokens of an earlier sign-in; new tokens are stored there.

    `sign_in`: the sign-in that a person performs now; None if no person can sign in. In this case, requests
    raise SignInNeededError if the server requires a sign-in.

    A tool call may need more permissions than the user gave at the sign-in. Then only this call is refused,
    and the connection stays usable.
    """
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    wanted = auth.get("authentication") or {}
    scopes = wanted.get("scopes")
    scope = " ".join(scopes) if isinstance(scopes, list) else scopes
    metadata = {
        "client_name": wanted.get("client_name") or CLIENT_NAME,
        "redirect_uris": [REDIRECT_URI],
        "scope": scope,
        "token_endpoint_auth_method": wanted.get("client_auth_method"),
        **(wanted.get("additional_client_metadata") or {}),
    }
    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata.model_validate(
            {name: value for name, value in metadata.items() if value is not None}
        ),
        storage=state,
        redirect_handler=sign_in.redirect if sign_in else _refuse,
        callback_handler=sign_in.callback if sign_in else _nobody,
        client_metadata_url=wanted.get("client_metadata_url"),
    )
    # Without this an expired token would be sent and refused instead of being renewed.
    provider.context.token_expiry_time = state.expires_at
    return with_scope(provider, scope)


async def _refuse(_: str) -> None:
    raise SignInNeededError("The server requires a sign-in: sign in where the server was added.")


async def _nobody() -> "AuthorizationCodeResult":
    raise SignInNeededError
