"""Builds syslog messages (RFC 5424), and sends them over UDP, TCP (RFC 6587) or TLS (RFC 5425)."""

import asyncio
import fcntl
import os
import re
import socket
import ssl
import struct
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from agent_runtime.time_limits import time_limit

TIMEOUT_SECONDS: Final = 10.0
MAX_DATAGRAM_BYTES: Final = 65_000

_PIECE_BYTES: Final = 64 * 1024
_LOOK_AGAIN_SECONDS: Final = 0.01
_FACILITY_AUDIT: Final = 13
_WARNING, _INFORMATIONAL = 4, 6


def message(moment: datetime, message_id: str, text: str, *, is_refusal: bool = False) -> bytes:
    """Builds one syslog message for an entry of the audit log. `moment`: the time in the message. `text`: the
    body of the message, as JSON.

    `message_id`: the value of the syslog field MSGID, of which only the first 32 characters are sent.
    `is_refusal`: whether the entry records a refused action. The severity of the message is then "warning",
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
    async with time_limit(TIMEOUT_SECONDS):
        transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(host, port))
        try:
            for each in messages:
                transport.sendto(each[:MAX_DATAGRAM_BYTES])
        finally:
            transport.close()


async def send_stream(host: str, port: int, messages: Sequence[bytes], tls: ssl.SSLContext | None) -> None:
    """Sends the messages over one TCP or TLS connection, and then closes the connection. Each message is sent
    after its length. `tls`: the TLS settings; None means TCP without TLS.

    A syslog receiver sends no reply. So the messages count as delivered if two conditions are met. The
    receiver's operating system has confirmed all bytes, and the receiver has closed its side after it
    received our end of the connection.

    Raises OSError if the connection fails, or if the receiver closes it before all messages are sent. Raises
    TimeoutError if the receiver is too slow.
    """
    content = b"".join(f"{len(each)} ".encode() + each for each in messages)
    await asyncio.to_thread(_deliver, host, port, content, tls)


def _deliver(host: str, port: int, content: bytes, tls: ssl.SSLContext | None) -> None:
    with socket.create_connection((host, port), TIMEOUT_SECONDS) as plain:
        if tls is None:
            _send(plain, content)
            return
        # Without ragged ends, a connection that breaks is an error, and only a close_notify is an end.
        with tls.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=False) as encrypted:
            _send(encrypted, content)


def _send(stream: socket.socket, content: bytes) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    rest = memoryview(content)
    while rest:
        stream.settimeout(_seconds_until(deadline))
        rest = rest[stream.send(rest[:_PIECE_BYTES]) :]
    _require_open(stream)
    stream.settimeout(_seconds_until(deadline))
    if isinstance(stream, ssl.SSLSocket):
        # Some receivers close their TCP connection without a close_notify when they have got ours.
        with suppress(ssl.SSLEOFError):
            stream.unwrap()
    # The receiver sees the end after all messages, and closes its side.
    stream.shutdown(socket.SHUT_WR)
    while stream.recv(_PIECE_BYTES):
        stream.settimeout(_seconds_until(deadline))
    _require_confirmed(stream, deadline)


def _require_open(stream: socket.socket) -> None:
    """Checks that the receiver has not closed its side of the connection. Raises ConnectionAbortedError if it
    has. Reads and drops the data that the receiver has sent.
    """
    stream.setblocking(False)
    # Without data, an open connection raises one of these errors.
    with suppress(BlockingIOError, ssl.SSLWantReadError):
        while stream.recv(_PIECE_BYTES):
            pass
        raise ConnectionAbortedError("The receiver closed the connection before the end of the messages.")


def _require_confirmed(stream: socket.socket, deadline: float) -> None:
    """Waits until the operating system of the receiver has confirmed all sent bytes (by TCP). Returns at once
    on systems other than Linux, because they do not show how many bytes are confirmed.

    `deadline`: the latest end of the wait, as a value of `time.monotonic()` in seconds. Raises TimeoutError
    after the deadline. Raises OSError if the receiver refuses bytes because it has closed the connection.
    """
    while sys.platform == "linux":  # other systems do not tell how many bytes are not confirmed
        if error := stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        (unconfirmed,) = struct.unpack("i", fcntl.ioctl(stream, termios.TIOCOUTQ, bytes(4)))
        if unconfirmed == 0:
            return
        _seconds_until(deadline)
        time.sleep(_LOOK_AGAIN_SECONDS)


def _seconds_until(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("The receiver is too slow.")
    return seconds
