"""Computes the encoded forms of a secret value, such as base64 or a JSON string. Each encoded text contains
the whole value in one piece and reveals it.
"""

import base64
import json
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

MIN_CHARS = 4
"""Secret values with fewer characters than this number are not masked. Masking such a short value would hide
a large part of any text, and the value can be guessed anyway.
"""
_MIN_LINE_CHARS = 12


def forms_of(value: str) -> set[str]:
    """Returns the secret value in all encodings that the masker (which hides secrets) searches for. The set
    also contains the encodings of the value's single lines. Returns an empty set for a value that is too
    short.
    """
    if len(value) < MIN_CHARS:
        return set()
    forms = {form for one in (value, *lines_of(value)) for form in _forms(one)}
    return {form for form in forms if len(form) >= MIN_CHARS}


def lines_of(value: str) -> list[str]:
    """Returns the lines of a secret value that the masker (which hides secrets) searches for one by one. This
    is needed because a key with several lines is seldom printed as a whole.

    Leaves out lines of less than 12 characters, and the header and footer of a key (`-----`), which are not
    secret.
    """
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= _MIN_LINE_CHARS and not line.startswith("-----")]


def _forms(value: str) -> Iterator[str]:
    yield value
    if value.strip() != value and len(value.strip()) >= MIN_CHARS:
        yield value.strip()
    yield from _escaped(value)
    yield from (quote(value, safe=""), quote(value), quote_plus(value))
    yield from (quote(value, safe="").lower(), quote(value).lower())
    yield value[::-1]
    data = value.encode()
    yield from (data.hex(), data.hex().upper())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield from _base64(data, encode)


def _escaped(value: str) -> Iterator[str]:
    """Yields the value as a JSON string, as a JSON string inside another one, and with escaped slashes."""
    for keeps_unicode in (True, False):
        once = json.dumps(value, ensure_ascii=not keeps_unicode)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=not keeps_unicode)[1:-1]
        yield once.replace("/", "\\/")


def _base64(data: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yields the base64 text of `data`, and three shorter texts. A shorter text is found if `data` was
    encoded as a part of longer data, for example after a user name. `encode`: the base64 function.

    Base64 encodes three bytes as four letters. So the first and last letters may also depend on the bytes
    around `data`; the shorter texts leave these letters out. The other letters depend on the position of
    `data` in a group of three bytes, so there is one text for each of the three positions.
    """
    yield encode(data).decode()
    for offset in range(3):
        text = encode(b"\0" * offset + data).decode().rstrip("=")
        # Letters at the edges also depend on what stands before and after.
        first = -(-offset * 8 // 6)
        last = (offset + len(data)) * 8 // 6
        yield text[first:last]
