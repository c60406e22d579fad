"""An MCP server that requires OAuth 2.1: `python -m tests.support.mcp_oauth_server PORT`.

Its authorization page asks no question: it sends the browser back with a code at once. Every issued token is
added to the file that SLIPWAY_TEST_TOKENS names.
"""

import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

TOKEN_SECONDS = 3600


class Provider:
    """The OAuth provider of the server. It keeps clients, codes and tokens in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshers: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: object, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.resource, authorization_code.scopes)

    async def load_refresh_token(self, client: object, refresh_token: str) -> RefreshToken | None:
        return self.refreshers.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshers[refresh_token.token]
        return self._issue(client, RESOURCE, refresh_token.scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: object) -> None:
        """Does nothing: no test revokes a token."""

    def _issue(
        self, client: OAuthClientInformationFull, resource: str | None, scopes: list[str]
    ) -> OAuthToken:
        client_id = client.client_id or ""
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        self.tokens[access] = AccessToken(
            token=access,
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time()) + TOKEN_SECONDS,
            resource=resource,
        )
        if told := os.environ.get("SLIPWAY_TEST_TOKENS"):
            with Path(told).open("a") as tokens:
                tokens.write(f"{access}\n{refresh}\n")
        self.refreshers[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=TOKEN_SECONDS)


class WantsScope:
    """A middleware that refuses a call of the tool `change` with HTTP 403 if the token lacks the scope
    `write`.
    """

    def __init__(self, app: Any, provider: Provider) -> None:
        self._app = app
        self._provider = provider

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != "/mcp":
            await self._app(scope, receive, send)
            return
        messages, body, has_more = [], b"", True
        while has_more:
            messages.append(message := await receive())
            body += message.get("body", b"")
            has_more = message.get("more_body", False)

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        known = self._provider.tokens.get(token)
        if b'"change"' not in body or known is None or "write" in known.scopes:
            await self._app(scope, again, send)
            return
        asks = b'Bearer error="insufficient_scope", scope="write", error_description="no"'
        await send({"type": "http.response.start", "status": 403, "headers": [(b"www-authenticate", asks)]})
        await send({"type": "http.response.body", "body": b""})


if __name__ == "__main__":
    ADDRESS = f"http://127.0.0.1:{sys.argv[1]}"
    RESOURCE = f"{ADDRESS}/mcp"
    PROVIDER = Provider()
    server = MCPServer(
        "behind a door",
        auth_server_provider=PROVIDER,
        auth=AuthSettings.model_validate(
            {
                "issuer_url": ADDRESS,
                "resource_server_url": RESOURCE,
                "client_registration_options": ClientRegistrationOptions(enabled=True),
            }
        ),
    )

    @server.tool()
    def whoami() -> str:
        """Says that you are in."""
        return "you are in"

    @server.tool()
    def change() -> str:
        """Returns "changed". A call of this tool needs the scope `write`."""
        return "changed"

    app = WantsScope(server.streamable_http_app(), PROVIDER)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
