"""The client that the MCP library calls with: kept, on a member's word, from what is not public.

Not only the server's own address is named by others: who lets users in, who registers clients and who gives
out tokens, the server says. The library speaks httpx2, which shares no types with httpx.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app_server.guarded import Guard, pinned_extensions

if TYPE_CHECKING:
    import httpx2


def mcp_client(
    guard: Guard | None, headers: Mapping[str, str], auth: "httpx2.Auth | None"
) -> "httpx2.AsyncClient":
    """guard: None for whoever may call anything. Else calls raise Forbidden `private_address`."""
    import httpx2
    from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT

    timeout = httpx2.Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT)
    transport = _guarded(guard) if guard else None
    return httpx2.AsyncClient(timeout=timeout, headers=dict(headers), auth=auth, transport=transport)


def _guarded(guard: Guard) -> "httpx2.AsyncBaseTransport":
    import httpx2

    class Guarded(httpx2.AsyncHTTPTransport):
        _proxied: httpx2.AsyncHTTPTransport | None = None

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            host = request.url.host
            try:
                route = await guard.route_to(host, request.url.scheme)
            except (OSError, TimeoutError) as error:
                raise httpx2.ConnectError(f"{host} cannot be found: {error}", request=request) from error
            if route.proxy:
                self._proxied = self._proxied or httpx2.AsyncHTTPTransport(proxy=route.proxy.url)
                return await self._proxied.handle_async_request(request)
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=route.address or host),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, **pinned_extensions(host)},
            )
            return await super().handle_async_request(pinned)

        async def aclose(self) -> None:
            if self._proxied:
                await self._proxied.aclose()
            await super().aclose()

    return Guarded()
