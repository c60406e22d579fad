"""Creates the HTTP client that the MCP library uses to call MCP servers. The client refuses private
addresses, with one exception: if the user is an administrator of the installation, the MCP server itself may
have a private address.

The client checks the address of each request. One check of the MCP server's address is not enough, because
the server also names addresses for the sign-in, for the registration of clients and for tokens. The MCP
library needs a client of httpx2, so the app server's clients of httpx cannot be used here.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app_server.http.bounded_body import IDENTITY
from app_server.http.guarded_client import Guard
from app_server.http.guarded_httpx2 import guarded_transport

if TYPE_CHECKING:
    import httpx2

MAX_REPLY_BYTES = 16 * 1024**2


def mcp_client(
    guard: Guard | None, headers: Mapping[str, str], auth: "httpx2.Auth | None"
) -> "httpx2.AsyncClient":
    """Returns an HTTP client with which the MCP library calls an MCP server. Each call has the headers
    `headers` and the authentication `auth`; None means no authentication.

    `guard`: decides which addresses may be called; a call to a private address raises Forbidden
    `private_address`. None allows every address.
    """
    import httpx2
    from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT

    timeout = httpx2.Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT)
    transport = guarded_transport(guard) if guard else None
    return httpx2.AsyncClient(
        timeout=timeout,
        headers={**IDENTITY, **headers},
        auth=auth,
        transport=transport,
        event_hooks={"response": [_bounding()]},
    )


def _bounding() -> "Callable[[httpx2.Response], Awaitable[None]]":
    """Returns an event hook that limits each reply to MAX_REPLY_BYTES. The limit is needed because the MCP
    library reads whole replies into memory. The hook refuses compressed replies, because their size is not
    known.
    """
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
            self._inner = inner
            self._request = request

        async def __aiter__(self) -> AsyncIterator[bytes]:
            remaining_bytes = MAX_REPLY_BYTES
            async for piece in self._inner:
                remaining_bytes -= len(piece)
                if remaining_bytes < 0:
                    raise httpx2.ReadError("The reply is longer than any may be.", request=self._request)
                yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise httpx2.DecodingError(
                "The reply is compressed, so its size is not known.", request=response.request
            )
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Bounded(response.stream, response.request)

    return bound
