"""Provides an HTTP transport that refuses private addresses, for the MCP and OAuth libraries. These libraries
use httpx2. It shares no types with httpx, so the transports in guarded_client.py do not work with it.
"""

from typing import TYPE_CHECKING

from app_server.http.connection_errors import unknown_host
from app_server.http.guarded_client import Guard, pinned_extensions

if TYPE_CHECKING:
    import httpx2


def guarded_transport(guard: Guard) -> "httpx2.AsyncBaseTransport":
    """Returns an httpx2 transport that checks before each request that the host is not private. For a private
    host, the transport raises Forbidden `private_address` and sends nothing.
    """
    import httpx2  # loaded with the libraries that use it

    class Guarded(httpx2.AsyncHTTPTransport):
        _proxied: httpx2.AsyncHTTPTransport | None = None

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            host = request.url.host
            try:
                route = await guard.route_to(host, request.url.scheme, request.url.port)
            except (OSError, TimeoutError) as error:
                raise httpx2.ConnectError(unknown_host(host, error), request=request) from error
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
