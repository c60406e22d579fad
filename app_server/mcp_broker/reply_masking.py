"""Removes secret values from the replies of MCP servers, because a server may repeat the credentials that
were sent to it.
"""

from collections.abc import AsyncIterable, AsyncIterator, Collection

from app_server.http.response_redaction import ResponseRedaction

HIDDEN = b"[hidden]"
MIN_CHARACTERS = 16
"""The minimum length, in characters, of a secret value that is removed from replies. Tokens are longer than
this. Headers with credentials also contain short words such as `true`, which are common in replies and must
not be removed.
"""


async def masked(pieces: AsyncIterable[bytes], values: Collection[str]) -> AsyncIterator[bytes]:
    """Yields the bytes of `pieces` with each of the secret `values` replaced by HIDDEN, even if a value is
    split across pieces. Delays only bytes that may be the beginning of a value.
    """
    # Also the part after the scheme, as in `Bearer TOKEN`.
    parts = {part for value in values for part in (value, value.rpartition(" ")[2])}
    redaction = ResponseRedaction(parts, min_characters=MIN_CHARACTERS, instead=HIDDEN)
    async for piece in pieces:
        if ready := redaction.feed(piece):
            yield ready
    if held := redaction.flush():
        yield held
