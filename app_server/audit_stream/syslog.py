"""Builds syslog messages (RFC 5424), and sends them over UDP, TCP (RFC 6587) or TLS (RFC 5425)."""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

TIMEOUT_SECONDS: Final = 10.0
MAX_DATAGRAM_BYTES: Final = 65_000

_FACILITY_AUDIT: Final = 13
_WARNING, _INFORMATIONAL = 4, 6


def message(moment: datetime, message_id: str, text: str, *, is_refusal: bool = False) -> bytes:
    """Returns one syslog message for an entry of the audit log. moment: the time in the message. message_id:
    the MSGID of the message, which is cut after 32 characters. text: the body of the message, as JSON.
    is_refusal: whether the entry records a refused action; the message then has the severity "warning",
    otherwise "informational".
    """
    priority = _FACILITY_AUDIT * 8 + (_WARNING if is_refusal else _INFORMATIONAL)
    stamp = moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    host = re.sub(r"[^!-~]", "", socket.gethostname())[:255] or "-"
    head = f"<{priority}>1 {stamp} {host} slipway {os.getpid()} {message_id[:32]} -"
    return f"{head} {text}".encode()


async def send_datagrams(host: str, port: int, messages: Sequence[bytes]) -> None:
    """Sends each message as one UDP datagram. Messages longer than MAX_DATAGRAM_BYTES are cut. The receiver
    does not confirm datagrams, so a lost message is not noticed. Raises OSError if a datagram cannot be sent.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(host, port))
        try:
            for each in messages:
                transport.sendto(each[:MAX_DATAGRAM_BYTES])
        finally:
            transport.close()


async def send_stream(host: str, port: int, messages: Sequence[bytes], tls: ssl.SSLContext | None) -> None:
    """Sends the messages over one TCP or TLS connection, and then closes the connection. The length of each
    message is sent before the message. tls: the TLS settings; None means TCP without TLS.

    Raises OSError if the connection fails. Raises TimeoutError if the receiver is too slow.
    """
    async with asyncio.timeout(TIMEOUT_SECONDS):
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            for each in messages:
                writer.write(f"{len(each)} ".encode() + each)
                await writer.drain()
            if writer.can_write_eof():
                # The receiver sees the end after all messages, and closes its side.
                writer.write_eof()
                await reader.read()
    finally:
        writer.close()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await writer.wait_closed()
