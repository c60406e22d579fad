"""Limits the number of values in a JSON body while the body arrives.

Decoding JSON blocks the event loop. The time depends on the number of values, not on the number of bytes: a
text of 18 MB takes 10 ms, but nine million numbers take seconds. A decoded value also takes a hundred times
the memory of its text. Each value follows a comma or an opening bracket. This module counts these characters,
which is fast. It also counts the characters inside texts, so the number of values is approximate.
"""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

MAX_VALUES = 500_000
_BEFORE_VALUES = b",[{"


def values_in(piece: bytes) -> int:
    """Returns the approximate number of JSON values in a piece of a body."""
    # One pass over the piece, in half the time that three counts take.
    return len(piece) - len(piece.translate(None, _BEFORE_VALUES))


def bounded_values(scope: Scope, receive: Receive) -> Receive:
    """Returns an ASGI `receive` function that reads the request body by calling `receive`. It raises
    HTTPException 413 as soon as a JSON body has more than MAX_VALUES values.
    """
    media_type = Headers(scope=scope).get("content-type", "")
    # FastAPI also decodes a body whose type is not given.
    if media_type and "json" not in media_type.lower():
        return receive
    values = 0

    async def receive_bounded() -> Message:
        nonlocal values
        message = await receive()
        values += values_in(message.get("body", b""))
        if values > MAX_VALUES:
            # While it parses a body, the framework passes on no other exception class.
            raise HTTPException(413, f"A JSON body must not have more than {MAX_VALUES} values.")
        return message

    return receive_bounded
