"""Additional certificate authorities, each trusted only for certain servers, besides the public
authorities.
"""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import httpx

from app_server.http.connection_errors import causes
from app_server.http.origins import is_same_origin

_EXTENSION = "slipway.additional_trust"


@dataclass(frozen=True)
class AdditionalTrust:
    """A set of additional certificate authorities, and the servers for which these authorities are trusted.

    `authorities`: certificates as PEM. `origins`: the URLs of these servers; only scheme, host and port
    count.
    """

    authorities: str
    origins: tuple[str, ...]

    def is_for(self, url: httpx.URL) -> bool:
        """Returns whether the additional certificate authorities of this object are trusted for the server of
        this URL.
        """
        return any(is_same_origin(origin, str(url)) for origin in self.origins)


class _TrustingClient(httpx.AsyncClient):
    """An HTTP client that sends all requests through another client. It adds `trust` (certificate authorities
    and the servers for which they are trusted) to the httpx extensions of each request.
    """

    def __init__(self, inner: httpx.AsyncClient, trust: AdditionalTrust) -> None:
        # It opens no connection itself, so it needs no closing.
        super().__init__(transport=httpx.MockTransport(_refuse), headers=inner.headers, timeout=inner.timeout)
        self._through = inner
        self._trust = trust

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        request.extensions[_EXTENSION] = self._trust
        return await self._through.send(request, **options)


def trusting(http: httpx.AsyncClient, trust: AdditionalTrust | None) -> httpx.AsyncClient:
    """Returns an HTTP client that sends its requests through `http`. For the servers in `trust`, it also
    trusts the certificate authorities in `trust`. Returns `http` itself if `trust` is None. Callers need not
    close the returned client, because it opens no connections itself.
    """
    return http if trust is None else _TrustingClient(http, trust)


def trust_of(request: httpx.Request) -> AdditionalTrust | None:
    """Returns the additional certificate authorities that are trusted for this request. Returns None if the
    request has no additional authorities, or if its server is not one for which these authorities are
    trusted.
    """
    trust = request.extensions.get(_EXTENSION)
    return trust if isinstance(trust, AdditionalTrust) and trust.is_for(request.url) else None


@lru_cache(maxsize=64)
def context_with(authorities: str) -> ssl.SSLContext:
    """Returns a TLS context that trusts the public certificate authorities and additional ones.
    `authorities`: the certificates of the additional authorities as PEM. Raises ssl.SSLError if the text
    contains no valid certificates.
    """
    context = httpx.create_ssl_context()
    # Newer versions of Python refuse authorities without certain extensions. Many private ones lack them, and
    # git accepts them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=authorities)
    return context


class SingleUseTransport(httpx.AsyncBaseTransport):
    """An HTTP transport for a single request that trusts the certificate authorities in `trust`. The request
    gets a separate connection, which is closed after the response. So this connection is never used for a
    request of another user, who may not trust these authorities. `proxy_url`: the HTTP proxy to use; None
    means a direct connection.
    """

    def __init__(self, trust: AdditionalTrust, proxy_url: str | None) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=context_with(trust.authorities), proxy=proxy_url)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = await self._inner.handle_async_request(request)
        except BaseException:
            await self._inner.aclose()
            raise
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        reply.stream = _LastStream(reply.stream, self._inner)
        return reply


class _LastStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, transport: httpx.AsyncHTTPTransport) -> None:
        self._stream = stream
        self._transport = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._transport.aclose()


def certificate_problem(error: BaseException) -> str | None:
    """Returns the reason why a server's certificate was refused, such as `self-signed certificate in
    certificate chain`. Returns None if the error has another cause.
    """
    for one in causes(error):
        if isinstance(one, ssl.SSLCertVerificationError):
            return one.verify_message or str(one)
    return None


def _refuse(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url.host} would be called without its guard")
