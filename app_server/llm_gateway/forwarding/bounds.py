"""Makes sure that litellm sends requests only to the servers of the model that is called.

litellm creates HTTP clients and shares them among its calls. All these clients send through one transport,
which this module sets. The transport sends a request only to origins (scheme, host and port) that are allowed
for the model call that runs now. So a field of the call, a redirect or an image cannot lead a request to
another origin.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import httpx

from app_server.core.addresses import BadHost, Named, parse_host
from app_server.http.bounded_body import BoundedStream
from app_server.http.guarded_client import Guard, GuardedSyncTransport, Route
from app_server.http.outgoing_proxy import Upstream, upstream_of

Origin = tuple[str, str, int | None]
"""An origin: the scheme, the host and the port of a URL. The port is None only if the URL has no port and the
scheme has no default port.
"""

_Send = Callable[[httpx.Request], httpx.Response]
MAX_REPLY_BYTES = 64 * 1024**2
_DEFAULT_PORTS = {"http": 80, "https": 443}

_send: ContextVar[_Send | None] = ContextVar("how a call of litellm may send", default=None)


_under_way: set[object] = set()


class OutOfBoundsError(httpx.ConnectError):
    """The error that is raised if litellm tries to send a request to an origin that is not allowed. Nothing
    was sent.
    """


def keep_in(litellm: Any) -> None:
    """Makes litellm send all requests of this process through a transport that checks their origin (scheme,
    host and port). From then on, litellm can send requests only inside a `with` block of the function
    `bounded`, and only to the origins that the block allows.
    """
    if isinstance(getattr(litellm, "sync_transport", None), _Bounded):
        return
    litellm.sync_transport = transport = _Bounded()
    # For the `openai` package, which litellm uses for Azure and others.
    litellm.client_session = httpx.Client(transport=transport, follow_redirects=True)
    # For calls that litellm moves to an event loop, where no bounds are known. It has no setting for them.
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler  # loaded with litellm
    from litellm.llms.vertex_ai.vertex_llm_base import VertexBase  # loaded with litellm

    VertexBase._ensure_access_token = _given_token  # noqa: SLF001 (there is no setting for it)
    AsyncHTTPHandler.create_async_transport = staticmethod(lambda **_: _NotMeanwhile())
    litellm.aclient_session = httpx.AsyncClient(transport=_NotMeanwhile())
    # Drops clients that an import has created already.
    vars(litellm).pop("module_level_client", None)
    litellm.in_memory_llm_clients_cache.flush_cache()


def _given_token(
    _self: Any, credentials: str | None, project_id: str | None, custom_llm_provider: str
) -> tuple[str, str]:
    """Returns the access token and the Google Cloud project for a call of a Google model. These are
    `credentials` and `project_id`, or the text "none" for a missing value. If `custom_llm_provider`
    (litellm's name of the vendor) is "gemini", both are empty texts.

    This function replaces litellm's function that signs in at Google. That function would read files, run
    programs and use the identity of this machine.
    """
    return ("", "") if custom_llm_provider == "gemini" else (credentials or "none", project_id or "none")


@contextmanager
def bounded(
    litellm: Any,
    model: str,
    base_url: str | None,
    guard: Guard | None,
    location: str | None = None,
) -> Iterator[None]:
    """Lets litellm send requests to the origins (scheme, host and port) of this model, in this thread and
    while the `with` block runs. Refuses requests to all other origins.

    `base_url`: the address in the model profile; None if the profile has none. `guard`: checks each address;
    None allows any address. `location`: the location of a model at Vertex AI; None for other vendors. Works
    only in threads that anyio has started.
    """
    origins = _origins(litellm, model, base_url, location)
    if not origins:
        _origins.cache_clear()  # the vendor's sign-in may have failed, and work the next time

    def send(request: httpx.Request) -> httpx.Response:
        if origin_of(request.url) not in origins:
            raise OutOfBoundsError(f"{request.url.host} is not the host of this model.", request=request)
        reply = _transport(guard or _unguarded()).handle_request(request)
        assert isinstance(reply.stream, httpx.SyncByteStream)
        reply.stream = BoundedStream(reply.stream, MAX_REPLY_BYTES, request)
        return reply

    token, call = _send.set(send), object()
    _under_way.add(call)
    try:
        yield
    finally:
        _under_way.discard(call)
        _send.reset(token)


def origin_of(url: httpx.URL) -> Origin:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)


@lru_cache(maxsize=512)
def _origins(litellm: Any, model: str, base_url: str | None, location: str | None) -> frozenset[Origin]:
    """Returns the origins (scheme, host and port) to which litellm sends a call of this model. Only litellm
    knows the addresses of its vendors. Therefore this function lets litellm make a trial call without a
    user's data, records its address, and stops the call before it is sent. The origin of `base_url` is also
    returned.

    `location`: the location of a model at Vertex AI; None for other vendors.
    """
    seen = {origin_of(httpx.URL(base_url))} if base_url else set()

    def note(request: httpx.Request) -> httpx.Response:
        seen.add(origin_of(request.url))
        raise OutOfBoundsError("This call is not sent.", request=request)

    token = _send.set(note)
    try:
        litellm.completion(
            model=model,
            base_url=base_url,
            api_key="none",
            messages=[{"role": "user", "content": "."}],
            num_retries=0,
            max_retries=0,
            drop_params=True,
            **({"vertex_location": location} if location else {}),
        )
    except Exception:  # noqa: BLE001, S110 (it always fails; the call itself says what is missing)
        pass
    finally:
        _send.reset(token)
    return frozenset(seen)


class _Bounded(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        send = _send.get()
        if send is None:
            raise OutOfBoundsError("No call of a model is under way.", request=request)
        return send(request)

    def close(self) -> None:
        """Does nothing. Many clients share this transport, so the end of one client must not close it."""


class _NotMeanwhile(httpx.AsyncBaseTransport):
    """An async HTTP transport for litellm that refuses all requests while a model call runs. At other times
    it sends requests without a check of their addresses.

    This app server makes its model calls with litellm's synchronous transport, which checks the address of
    each request. If litellm used the async transport for a model call, the request would avoid this check.
    Therefore the request fails.
    """

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if _under_way:
            raise OutOfBoundsError(f"{request.url.host} is not the host of this model.", request=request)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Unguarded(Guard):
    """A guard (a check of network addresses) that allows every address. It is used for addresses that only
    administrators have set.
    """

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(Named(), upstream=upstream)
        self._proxies = upstream

    async def route_to(
        self,
        host: str,
        scheme: str = "https",
        port: int | None = None,  # noqa: ARG002 (as in Guard)
    ) -> Route:
        try:
            name = parse_host(host)
        except BadHost:
            return Route()
        return Route(proxy=self._proxies.proxy_for(name, "http" if scheme == "http" else "https"))


@cache
def _unguarded() -> Guard:
    return _Unguarded(upstream_of())


@cache
def _transport(guard: Guard) -> GuardedSyncTransport:
    return GuardedSyncTransport(guard)
