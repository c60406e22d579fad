"""Reads the whole body of a request from a connection."""

import asyncio

import h11

from agent_runtime.time_limits import time_limit

MAX_BYTES = 32 * 1024**2
"""The maximum size of a request body that the server's relay for git commands and programs accepts. The app
server has a separate limit in its configuration, by default 20 MiB.
"""

_SECONDS = 120.0
_PIECE_BYTES = 256 * 1024


class BodyTooLargeError(Exception):
    """The error that is raised when the body of a request has more than MAX_BYTES bytes."""


class UnreadableBodyError(Exception):
    """The error that is raised when the body of a request does not arrive in time, ends too early, or has a
    length that is not stated correctly.
    """


async def read_body(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Reads and returns the body that follows the headers `head` of a request. If the client waits for `100
    Continue` before it sends the body, sends this response. `reader`, `writer`: the connection to the client.

    Raises BodyTooLargeError if the body has more than MAX_BYTES bytes. Raises UnreadableBodyError if the body
    does not arrive in time or in full.
    """
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=len(head) + _PIECE_BYTES)
    body = bytearray()
    try:
        connection.receive_data(head)
        async with time_limit(_SECONDS):
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Request):
                    # A large body is refused before it comes.
                    if int(dict(event.headers).get(b"content-length", b"0")) > MAX_BYTES:
                        raise BodyTooLargeError
                elif isinstance(event, h11.Data):
                    body += event.data
                    if len(body) > MAX_BYTES:
                        raise BodyTooLargeError
                elif event is h11.NEED_DATA:
                    await _go_on(connection, writer)
                    connection.receive_data(await reader.read(_PIECE_BYTES))
    except (h11.RemoteProtocolError, TimeoutError) as error:
        raise UnreadableBodyError from error
    return bytes(body)


async def _go_on(connection: h11.Connection, writer: asyncio.StreamWriter) -> None:
    if connection.they_are_waiting_for_100_continue:
        writer.write(connection.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        await writer.drain()
