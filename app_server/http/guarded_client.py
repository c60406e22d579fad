"""HTTP clients for addresses that users have entered. These clients never connect to private addresses.

A host name is resolved once, its addresses are checked, and the connection goes to exactly the address that
was checked. So no host name can lead to a private address.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import httpx
from anyio import from_thread

from agent_runtime.time_limits import time_limit
from app_server.core.addresses import BadHost, Named, is_address, is_refused, parse_host
from app_server.core.errors import Forbidden
from app_server.http.additional_trust import SingleUseTransport, trust_of
from app_server.http.certificates import public_authorities
from app_server.http.connection_errors import unknown_host
from app_server.http.origins import is_at, is_same_origin
from app_server.http.outgoing_proxy import Upstream, UpstreamProxy

RESOLVE_SECONDS = 10.0
_NO_LIMITS = httpx.Limits(max_connections=None)
_HOME = "slipway.home"

Resolver = Callable[[str], Awaitable[list[str]]]
"""A function that returns the IP addresses of a host name. It raises OSError if the name cannot be
resolved.
"""


# A name whose servers do not answer blocks a thread for half a minute, and users and sandboxes choose names.
# Therefore names are resolved in separate threads.
_RESOLVING = ThreadPoolExecutor(max_workers=64, thread_name_prefix="names")


async def system_resolver(name: str) -> list[str]:
    look_up = partial(socket.getaddrinfo, name, None, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_RESOLVING, look_up)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class FairResolver:
    """A DNS resolver that limits how many look-ups run at the same time for each client. A client is, for
    example, a user or a sandbox. A look-up counts towards this limit until it ends, even if its caller was
    cancelled earlier.

    `resolve`: the function that looks up a name. `at_once`: the limit of each client.
    """

    def __init__(self, resolve: Resolver, at_once: int = 8) -> None:
        self._resolve = resolve
        self._at_once = at_once
        self._semaphores: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        self._running: set[asyncio.Task[list[str]]] = set()

    async def resolve(self, client: Hashable, name: str) -> list[str]:
        """Returns the IP addresses of a host name. `client`: the user or sandbox for which the name is
        resolved. If this client already has too many lookups, waits until one of them has finished. Raises
        OSError if the name cannot be resolved.
        """
        semaphore = self._semaphores.setdefault(client, asyncio.Semaphore(self._at_once))
        await semaphore.acquire()
        task = asyncio.ensure_future(self._look_up(name))
        self._running.add(task)

        def end(task: asyncio.Task[list[str]]) -> None:
            self._running.discard(task)
            semaphore.release()
            if not task.cancelled():
                task.exception()  # marks the error as seen, also if the caller was cancelled

        task.add_done_callback(end)
        return await asyncio.shield(task)

    async def _look_up(self, name: str) -> list[str]:
        return await self._resolve(name)


@dataclass(frozen=True)
class Route:
    """The way in which a client connects to a server: directly to the IP address `address`, or through the
    outgoing proxy `proxy`. If both fields are None, the client resolves the host name itself and connects
    directly.
    """

    address: str | None = None
    proxy: UpstreamProxy | None = None


class Guard:
    """Checks before each connection that the host is not in a private network. `named`: the private hosts and
    networks that an administrator has allowed in the configuration.

    `resolve`: a function that returns the addresses of a host name. `upstream`: the outgoing proxies; None
    means that there are none. `home`: a URL whose origin is allowed even if it is private; None means that
    there is no such origin.
    """

    def __init__(
        self,
        named: Named,
        resolve: Resolver = system_resolver,
        upstream: Upstream | None = None,
        home: str | None = None,
    ) -> None:
        self._named = named
        self._resolve = resolve
        self._upstream = upstream or Upstream()
        self._home = httpx.URL(home) if home else None

    def trusting(self, url: str) -> "Guard":
        """Returns a guard (a check of network addresses) that also allows the origin of `url`, even if its
        address is private. `url`: a URL that an administrator has configured. The server's reply may lead to
        other origins, for example by a redirect. For these origins, the guard makes no exception.
        """
        return Guard(self._named, self._resolve, self._upstream, home=url)

    async def route_to(self, host: str, scheme: str = "https", port: int | None = None) -> Route:
        """Checks that the address of a host is not private, and returns how to connect to the host. `port`:
        None means the default port of the scheme. Does not check the origin of the guard's URL `home`. Raises
        Forbidden `private_address` for another private address.

        If the name cannot be resolved, the result depends on the proxy. With a proxy, returns a route through
        the proxy, which must then check the address. Without a proxy, raises OSError, or TimeoutError if the
        DNS does not answer.
        """
        if self._home is not None and is_at(self._home, scheme, host, port):
            return Route(proxy=self._upstream.proxy_for(host, "http" if scheme == "http" else "https"))
        name = _name_of(host)
        proxy = self._upstream.proxy_for(name, "http" if scheme == "http" else "https")
        try:
            address = await self._address_of(name)
        except (OSError, TimeoutError):
            if proxy is None:
                raise
            return Route(proxy=proxy)
        return Route(proxy=proxy) if proxy else Route(address)

    async def address_of(self, host: str) -> str:
        """Resolves a host, checks that its address is not private, and returns the address. This method is
        for protocols that use no proxy. Raises Forbidden `private_address` for a private address. Raises
        OSError if the name cannot be resolved. Raises TimeoutError if the DNS does not answer.
        """
        return await self._address_of(_name_of(host))

    async def _address_of(self, name: str) -> str:
        async with time_limit(RESOLVE_SECONDS):
            found = [name] if is_address(name) else await self._resolve(name)
        if not found or any(is_refused(name, address, self._named) for address in found):
            raise _refusal(name)
        return found[0]


class GuardedTransport(httpx.AsyncBaseTransport):
    """An HTTP transport that checks before each request that the host is not private. For a private host, it
    raises Forbidden `private_address` and sends nothing.
    """

    def __init__(self, guard: Guard, *, verify: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._verify = verify or public_authorities()
        # As many connections at a time as there are conversations.
        self._inner = httpx.AsyncHTTPTransport(verify=self._verify, limits=_NO_LIMITS)
        self._proxied: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        try:
            route = await self._guard.route_to(host, request.url.scheme, request.url.port)
        except (OSError, TimeoutError) as error:
            raise httpx.ConnectError(unknown_host(host, error), request=request) from error
        if trust := trust_of(request):
            single = SingleUseTransport(trust, route.proxy.url if route.proxy else None)
            direct = request if route.proxy else _pinned(request, route.address or host)
            return await single.handle_async_request(direct)
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


class BoundClient(httpx.AsyncClient):
    """An HTTP client for servers whose URLs an administrator has configured. A configured URL may have a
    private address.

    The reply of such a server may contain another URL, for example in a redirect. For a request to the other
    URL, the caller must pass the extensions that `bound_to` returns. Then the request may go to a private
    address only if the other URL has the same origin as the configured URL.

    `guarded`: the client that sends the requests to URLs with another origin; it refuses private addresses.
    `guard`: checks the addresses of requests that trust additional certificate authorities. The URL of such a
    request may have a private address. But if the server redirects the request to another origin, this origin
    must not be private.
    """

    def __init__(self, guarded: httpx.AsyncClient, guard: Guard, **options: Any) -> None:
        super().__init__(**options)
        self._guarded = guarded
        self._guard = guard

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        home = request.extensions.get(_HOME)
        if trust_of(request):
            # The transport checks again where the request leads, so a redirect elsewhere is guarded.
            transport = GuardedTransport(self._guard.trusting(str(request.url)))
            return await httpx.AsyncClient(transport=transport, timeout=self.timeout).send(request, **options)
        if home is None or is_same_origin(home, str(request.url)):
            return await super().send(request, **options)
        return await self._guarded.send(request, **options)


def bound_to(home: str) -> dict[str, Any]:
    """Returns the httpx extensions for a request to a URL that a server has returned: in a redirect, a link
    or a document. With them, a BoundClient sends the request to a private address only if the URL has the
    same origin as `home`. `home`: the URL that an administrator has configured for this server.
    """
    return {_HOME: home}


class GuardedSyncTransport(httpx.BaseTransport):
    """A synchronous HTTP transport that checks before each request that the host is not private, as
    GuardedTransport does. Works only in threads that anyio has started, because the check runs in the event
    loop.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpx.HTTPTransport(limits=_NO_LIMITS)
        self._proxied: dict[str, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        try:
            route = from_thread.run(self._guard.route_to, host, request.url.scheme, request.url.port)
        except (OSError, TimeoutError) as error:
            raise httpx.ConnectError(unknown_host(host, error), request=request) from error
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
    """Returns the extensions for an httpx request whose URL contains an IP address in place of the host name.
    With these extensions, the TLS connection names the host (SNI), and the server's certificate must be valid
    for this name. Returns an empty dictionary if `host` is itself an IP address.
    """
    return {} if is_address(host) else {"sni_hostname": host}


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **pinned_extensions(request.url.host)},
    )


def _name_of(host: str) -> str:
    try:
        return parse_host(host)
    except BadHost as error:
        raise _refusal(host) from error


def _refusal(host: str) -> Forbidden:
    return Forbidden(
        f"{host} leads to a private address. Only administrators may use one, and no server may name one.",
        code="private_address",
        fix="An administrator can name it in SLIPWAY_EGRESS_PRIVATE.",
    )
