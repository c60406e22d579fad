"""An HTTP client for addresses that users have named: what is not public stays closed to it, by any name.

A name is looked up once, what it leads to is judged, and the connection goes to that very address.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from anyio import from_thread

from app_server.addresses import BadHost, Named, is_address, is_refused, parse_host
from app_server.errors import Forbidden
from app_server.upstream import Upstream, UpstreamProxy

RESOLVE_SECONDS = 10.0
_NO_LIMITS = httpx.Limits(max_connections=None)

Resolver = Callable[[str], Awaitable[list[str]]]
"""The addresses of a name. Raises OSError."""


async def system_resolver(name: str) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class Route:
    """How a host may be called: at this address, or through this proxy."""

    address: str | None = None
    proxy: UpstreamProxy | None = None


class Guard:
    """`named`: what an administrator has opened of the private world. upstream: how to get outside."""

    def __init__(
        self, named: Named, resolve: Resolver = system_resolver, upstream: Upstream | None = None
    ) -> None:
        self._named = named
        self._resolve = resolve
        self._upstream = upstream or Upstream()

    async def route_to(self, host: str, scheme: str = "https") -> Route:
        """Raises Forbidden `private_address`, OSError, TimeoutError.

        A name that only the proxy can find is the proxy's to judge.
        """
        try:
            name = parse_host(host)
        except BadHost as error:
            raise _refusal(host) from error
        proxy = self._upstream.proxy_for(name, "http" if scheme == "http" else "https")
        try:
            address = await self._address_of(name)
        except (OSError, TimeoutError):
            if proxy is None:
                raise
            return Route(proxy=proxy)
        return Route(proxy=proxy) if proxy else Route(address)

    async def _address_of(self, name: str) -> str:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = [name] if is_address(name) else await self._resolve(name)
        if not found or any(is_refused(name, address, self._named) for address in found):
            raise _refusal(name)
        return found[0]


class GuardedTransport(httpx.AsyncBaseTransport):
    """Refuses with Forbidden `private_address`, before anything is sent."""

    def __init__(self, guard: Guard, *, verify: ssl.SSLContext | bool = True) -> None:
        self._guard = guard
        self._verify = verify
        # As many at a time as there are conversations.
        self._inner = httpx.AsyncHTTPTransport(verify=verify, limits=_NO_LIMITS)
        self._proxied: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        try:
            route = await self._guard.route_to(host, request.url.scheme)
        except (OSError, TimeoutError) as error:
            raise httpx.ConnectError(f"{host} cannot be found: {error}", request=request) from error
        if route.proxy:
            return await self._through(route.proxy).handle_async_request(request)
        return await self._inner.handle_async_request(_pinned(request, route.address or host))

    async def aclose(self) -> None:
        for transport in (self._inner, *self._proxied.values()):
            await transport.aclose()

    def _through(self, proxy: UpstreamProxy) -> httpx.AsyncHTTPTransport:
        if proxy.url not in self._proxied:
            self._proxied[proxy.url] = httpx.AsyncHTTPTransport(
                verify=self._verify, limits=_NO_LIMITS, proxy=proxy.url
            )
        return self._proxied[proxy.url]


class GuardedSyncTransport(httpx.BaseTransport):
    """The same in threads that anyio has started, for libraries that know no other way."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpx.HTTPTransport(limits=_NO_LIMITS)
        self._proxied: dict[str, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        try:
            route = from_thread.run(self._guard.route_to, host, request.url.scheme)
        except (OSError, TimeoutError) as error:
            raise httpx.ConnectError(f"{host} cannot be found: {error}", request=request) from error
        if route.proxy:
            return self._through(route.proxy).handle_request(request)
        return self._inner.handle_request(_pinned(request, route.address or host))

    def close(self) -> None:
        for transport in (self._inner, *self._proxied.values()):
            transport.close()

    def _through(self, proxy: UpstreamProxy) -> httpx.HTTPTransport:
        if proxy.url not in self._proxied:
            self._proxied[proxy.url] = httpx.HTTPTransport(limits=_NO_LIMITS, proxy=proxy.url)
        return self._proxied[proxy.url]


def pinned_extensions(host: str) -> dict[str, str]:
    """What an httpx request to an address says, so that TLS still asks for the name and checks it."""
    return {} if is_address(host) else {"sni_hostname": host}


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **pinned_extensions(request.url.host)},
    )


def _refusal(host: str) -> Forbidden:
    return Forbidden(
        f"{host} leads to a private address, which only administrators may use.",
        code="private_address",
        fix="Ask an administrator to name it in SLIPWAY_EGRESS_PRIVATE.",
    )
