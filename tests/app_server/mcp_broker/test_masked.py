"""Tests of removing secret values from a stream of bytes, also if a value is split between two pieces."""

import base64
from collections.abc import AsyncIterator

import pytest

from app_server.mcp_broker.reply_masking import masked

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


@pytest.mark.parametrize(
    "form",
    [
        base64.b64encode(TOKEN.encode()),
        base64.urlsafe_b64encode(b"x:" + TOKEN.encode() + b":y"),
        TOKEN.encode().hex().encode(),
        TOKEN.encode().hex().upper().encode(),
        TOKEN[::-1].encode(),
        TOKEN.upper().encode(),
        "".join(f"%{byte:02X}" if chr(byte) == "/" else chr(byte) for byte in TOKEN.encode()).encode(),
    ],
)
async def test_a_value_is_found_in_its_other_forms(form: bytes) -> None:
    passed = b"".join(await through(b'{"a": "', form[:9], form[9:], b'"}'))
    assert b"[hidden]" in passed
    assert len(passed) < len(form)


async def test_what_cannot_be_a_value_is_not_held_back() -> None:
    assert await through(b"data: 1\n\n", b"data: tok", b"data: 2\n\n") == [
        b"data: 1\n\n",
        b"data: ",
        b"tokdata: 2\n\n",
    ]
    assert b"".join(await through(b"ends with token-of")) == b"ends with token-of"
