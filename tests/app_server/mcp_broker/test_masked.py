"""Values taken out of bytes, wherever these are cut."""

from collections.abc import AsyncIterator

import pytest

from app_server.mcp_broker.masked import masked

TOKEN = "token-of-16-chars-and-more"
TEXT = f'data: {{"a": "{TOKEN}", "b": true}}\n\n'.encode()


async def through(*pieces: bytes, values: tuple[str, ...] = (f"Bearer {TOKEN}", "true")) -> list[bytes]:
    async def given() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [piece async for piece in masked(given(), values)]


@pytest.mark.parametrize("cut", range(len(TEXT)))
async def test_a_value_is_found_wherever_it_is_cut(cut: int) -> None:
    passed = b"".join(await through(TEXT[:cut], TEXT[cut:]))
    assert passed == b'data: {"a": "[hidden]", "b": true}\n\n'


async def test_what_cannot_be_a_value_is_not_held_back() -> None:
    assert await through(b"data: 1\n\n", b"data: tok", b"data: 2\n\n") == [
        b"data: 1\n\n",
        b"data: ",
        b"tokdata: 2\n\n",
    ]
    assert b"".join(await through(b"ends with token-of")) == b"ends with token-of"
