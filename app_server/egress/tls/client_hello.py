"""Reads the name of the requested host from the first message (ClientHello) of a TLS connection. The egress
proxy checks the name before it sends any data to the host.
"""

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

MAX_HELLO_BYTES = 64 * 1024
HANDSHAKE_RECORD = b"\x16"


class NotTls(Exception):
    """The error that is raised when the first data of a connection is not a complete first message of TLS."""


@dataclass(frozen=True)
class Hello:
    """The first TLS message of a client.

    content: all bytes that were read from the connection. If the egress proxy allows the connection, it sends
    these bytes to the host. server_name: the host that the client names; None if it names none. alert: the
    TLS error message that the proxy sends to the client if it refuses the connection.
    """

    content: bytes
    server_name: str | None
    alert: bytes


async def read_hello(read: Callable[[], Awaitable[bytes]], begun: bytes = b"") -> Hello:
    """Reads from a connection until the first TLS message is complete, and returns the message.

    read: returns the next data of the connection. begun: data that was already read. Raises NotTls if the
    data is not TLS, is too long, or ends too early.
    """
    seen: list[str | None] = []

    def note(_connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _context: ssl.SSLContext) -> int:
        seen.append(name)
        return ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sni_callback = note
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(incoming, outgoing, server_side=True)
    content = begun
    incoming.write(begun)
    while True:
        try:
            handshake.do_handshake()
        except ssl.SSLWantReadError:
            piece = await read()
            content += piece
            if not piece or len(content) > MAX_HELLO_BYTES:
                raise NotTls("the connection ended before its first message was whole") from None
            incoming.write(piece)
        except ssl.SSLError as error:
            if not seen:
                raise NotTls("the first message is not a TLS message") from error
            return Hello(content, seen[0], outgoing.read())
