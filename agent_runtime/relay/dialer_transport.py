"""An httpx transport that uses connections which the caller opens, for example in another network namespace
of the same machine.
"""

import select
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore
import httpx
from anyio.abc import SocketAttribute, SocketStream

from agent_runtime.relay.target import Dial


class DialledTransport(httpx.AsyncHTTPTransport):
    """An httpx transport that sends HTTP without TLS over connections that the function `dial` opens.
    `max_kept`: the maximum number of idle connections that stay open for later requests.
    """

    def __init__(self, dial: Dial, *, max_kept: int) -> None:
        without_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(verify=without_tls, trust_env=False)
        # httpx offers no other way to set a pool.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=without_tls,
            max_connections=None,
            max_keepalive_connections=max_kept,
            keepalive_expiry=5.0,
            network_backend=_Backend(dial),
        )


class _Backend(httpcore.AnyIOBackend):
    def __init__(self, dial: Dial) -> None:
        self._dial = dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the interface has it)
        local_address: str | None = None,  # noqa: ARG002 (likewise)
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 (likewise)
    ) -> httpcore.AsyncNetworkStream:
        with _errors_as(httpcore.ConnectTimeout, httpcore.ConnectError), anyio.fail_after(timeout):
            return _Stream(await SocketStream.from_socket(await self._dial(host, port)))


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 (likewise)
        with _errors_as(httpcore.ReadTimeout, httpcore.ReadError), anyio.fail_after(timeout):
            try:
                return await self._stream.receive(max_bytes)
            except anyio.EndOfStream:
                return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 (likewise)
        with _errors_as(httpcore.WriteTimeout, httpcore.WriteError), anyio.fail_after(timeout):
            await self._stream.send(buffer)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        # A kept connection that can be read was closed at the other end.
        found = self._stream.extra_attributes[SocketAttribute.raw_socket]()
        waiting = select.poll()
        waiting.register(found, select.POLLIN)
        return bool(waiting.poll(0))


@contextmanager
def _errors_as(too_late: type[Exception], broken: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise too_late(str(error)) from error
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise broken(str(error)) from error
