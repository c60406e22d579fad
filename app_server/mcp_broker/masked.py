"""Takes values out of bytes that pass by: a server may repeat what it was sent."""

from collections.abc import AsyncIterable, AsyncIterator, Collection

from app_server.http.response_redaction import Echoes

HIDDEN = b"[hidden]"
MIN_CHARACTERS = 16
"""Tokens are longer. Headers hold words like `true`, too, which answers are full of."""


async def masked(pieces: AsyncIterable[bytes], values: Collection[str]) -> AsyncIterator[bytes]:
    """The bytes without the values, also where one is cut over pieces. Holds back only what may be the
    beginning of one.
    """
    # Also what follows the scheme, as in `Bearer TOKEN`.
    parts = {part for value in values for part in (value, value.rpartition(" ")[2])}
    echoes = Echoes(parts, min_characters=MIN_CHARACTERS, instead=HIDDEN)
    async for piece in pieces:
        if ready := echoes.feed(piece):
            yield ready
    if held := echoes.flush():
        yield held
