"""Reads which OAuth scope an MCP server asks for when it refuses a call because the user's token lacks this
scope. Makes the next sign-in ask for the scope too.
"""

import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

MAX_SCOPE_CHARACTERS = 1_000

_INSUFFICIENT = re.compile(r"""\berror="?insufficient_scope\b"?""")
_SCOPE = re.compile(
    r"""\bscope=(?:"([\x20-\x21\x23-\x5b\x5d-\x7e]*)"|([\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+))"""
)
_SCOPE_PARAMETER = re.compile(r"""\bscope="[^"]*",?\s*""")


def requested_scope(challenge: str) -> str | None:
    """Returns the OAuth scope that an MCP server asks for in a 403 reply (RFC 6750, section 3.1).
    `challenge`: the reply's `WWW-Authenticate` header.

    Returns None if the header does not say that the token lacks a scope. Returns an empty text if the header
    says this but names no scope, or if the named scope is too long.
    """
    if not _INSUFFICIENT.search(challenge):
        return None
    found = _SCOPE.search(challenge)
    scope = union(found[1] or found[2]) if found else ""
    return scope if len(scope) <= MAX_SCOPE_CHARACTERS else ""


def union(*scopes: str | None) -> str:
    """Returns one OAuth scope that contains all permissions of the given scopes. A scope is a text of
    permissions, separated by spaces. Permissions that occur several times are listed once. Scopes that are
    None are ignored.

    A sign-in must ask for the old and the new permissions, because its tokens replace the old tokens.
    """
    return " ".join(dict.fromkeys(word for scope in scopes for word in (scope or "").split()))


def asking(auth: "httpx2.Auth", scope: str) -> "httpx2.Auth":
    """Returns an authentication object that works like `auth` but always asks for the OAuth scope `scope`,
    even if the MCP server names another scope. `auth`: an OAuth sign-in of the MCP library.
    """
    import httpx2

    class Asking(httpx2.Auth):
        requires_response_body = True

        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            flow = auth.async_auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is request and response.status_code == httpx2.codes.UNAUTHORIZED:
                        _widen(response, scope)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()

    return Asking()


def _widen(response: "httpx2.Response", scope: str) -> None:
    said = _SCOPE_PARAMETER.sub("", response.headers.get("www-authenticate", "Bearer")).strip(", ")
    kind, _, rest = said.partition(" ")
    response.headers["www-authenticate"] = f'{kind} scope="{scope}"' + (f", {rest}" if rest else "")
