"""Reads the host name from the first message (ClientHello) of a TLS connection, before any data is
forwarded.
"""

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

MAX_HELLO_BYTES = 64 * 1024
HANDSHAKE_RECORD = b"\x16"


class NotTls(Exception):
    """The first data of the connection is not the beginning of TLS."""


@dataclass(frozen=True)
class Hello:
    """The first TLS message of a client. `content`: all data that was read, to be forwarded. `alert`: a TLS
    alert that refuses the connection.
    """

    content: bytes
    server_name: str | None
    alert: bytes


async def read_hello(read: Callable[[], Awaitable[bytes]], begun: bytes = b"") -> Hello:
    """Reads from the connection until the first TLS message is complete. Raises NotTls."""
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
