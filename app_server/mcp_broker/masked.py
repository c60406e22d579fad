"""Takes values out of bytes that pass by: a server may repeat what it was sent."""

from collections.abc import AsyncIterable, AsyncIterator, Collection

HIDDEN = b"[hidden]"
MIN_CHARACTERS = 16
"""Tokens are longer. Headers hold words like `true`, too, which answers are full of."""


async def masked(pieces: AsyncIterable[bytes], values: Collection[str]) -> AsyncIterator[bytes]:
    """The bytes without the values, also where one is cut over pieces. Holds back only what may be the
    beginning of one.
    """
    wanted = _wanted(values)
    held = b""
    async for piece in pieces:
        text = held + piece
        for value in wanted:
            text = text.replace(value, HIDDEN)
        keep = max((_overlap(text, value) for value in wanted), default=0)
        held = text[len(text) - keep :]
        if ready := text[: len(text) - keep]:
            yield ready
    if held:
        yield held


def _wanted(values: Collection[str]) -> list[bytes]:
    """The values, and what follows the scheme in them, as in `Bearer TOKEN`; the longest first."""
    parts = {part for value in values for part in (value, value.rpartition(" ")[2])}
    return sorted((part.encode() for part in parts if len(part) >= MIN_CHARACTERS), key=len, reverse=True)


def _overlap(text: bytes, value: bytes) -> int:
    """How many bytes at the end of the text are a beginning of the value."""
    longest = min(len(text), len(value) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(value[:size])), 0)
