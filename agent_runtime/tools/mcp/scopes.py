"""Chooses the OAuth scopes (permissions) that a sign-in to an MCP server requests.

The MCP library requests only the scopes that the server names. If a tool call needs more scopes, the library
starts another sign-in. But during a conversation, no person can complete a sign-in. So this module makes the
first sign-in request the configured scopes, if there are any, and refuses calls that need more.
"""

import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

_SCOPE_PARAMETER = re.compile(r'\bscope="[^"]*",?\s*')


class SignInNeededError(Exception):
    """The error that is raised when the MCP server requires a sign-in, and no person is present to complete a
    sign-in.
    """


def with_scope(auth: "httpx2.Auth", scope: str | None) -> "httpx2.Auth":
    """Returns an HTTP authentication that works like `auth`, but requests the OAuth scope `scope` at the
    sign-in, in place of the scopes that the server names. None means that these are requested.

    If a tool call needs more permissions and no person can sign in again, the call is refused.
    """
    import httpx2

    class WithScope(httpx2.Auth):
        requires_response_body = True

        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            flow, status = auth.async_auth_flow(request), 0
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is request:
                        status = response.status_code
                        if scope and status == httpx2.codes.UNAUTHORIZED:
                            _widen(response, scope)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            except SignInNeededError:
                if status != httpx2.codes.FORBIDDEN:
                    raise
                # The call's result is the last reply, but the library has sent other requests since.
                yield request
            finally:
                await flow.aclose()

    return WithScope()


def missing_scope(response: "httpx2.Response") -> str:
    """Returns a sentence for the model about the OAuth scope (permission) that a refused tool call needs.
    Returns an empty text if the call was refused for another reason. `response`: the HTTP reply by which the
    MCP server refused the call.
    """
    from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth

    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return ""
    scope = extract_scope_from_www_auth(response)
    which = f"the scope `{scope}`" if scope else "more permission"
    return (
        f": this call needs {which}. Sign in to it again with that (`authentication.scopes`), then call again"
    )


def _widen(response: "httpx2.Response", scope: str) -> None:
    said = _SCOPE_PARAMETER.sub("", response.headers.get("www-authenticate", "Bearer")).strip(", ")
    kind, _, rest = said.partition(" ")
    response.headers["www-authenticate"] = f'{kind} scope="{scope}"' + (f", {rest}" if rest else "")
