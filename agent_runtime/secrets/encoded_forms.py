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
    """Returns the secret value and its encoded texts, such as base64. The masker (the object that hides
    secrets) searches for all of them. If the value has several lines, the set also contains the lines that
    `lines_of` returns, and their encoded texts. Returns an empty set if the value has fewer than MIN_CHARS
    characters.
    """
    if len(value) < MIN_CHARS:
        return set()
    forms = {form for one in (value, *lines_of(value)) for form in _forms(one)}
    return {form for form in forms if len(form) >= MIN_CHARS}


def lines_of(value: str) -> list[str]:
    """Returns the lines of a secret value that the masker (the object that hides secrets) also searches for
    alone, because programs seldom print a key of several lines as a whole.

    Lines of less than 12 characters are left out. The header and footer of a key, which begin with `-----`,
    are also left out, because they are not secret.
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
    """Yields the value with three kinds of escapes: as in a JSON string, as in a JSON string inside another
    JSON string, and as in a JSON string that also has a backslash before each slash. Each kind is yielded
    twice: with and without escapes for characters outside ASCII.
    """
    for keeps_unicode in (True, False):
        once = json.dumps(value, ensure_ascii=not keeps_unicode)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=not keeps_unicode)[1:-1]
        yield once.replace("/", "\\/")


def _base64(data: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yields the base64 text of `data`, and three shorter texts by which `data` is found inside longer
    encoded data. For example, `data` may have been encoded together with a user name. `encode`: the base64
    function.

    Base64 encodes groups of three bytes. `data` can begin at each of the three positions in a group, and its
    letters are different for each position. So there is one shorter text per position. It leaves out the
    first and last letters if they also depend on the bytes before and after `data`.
    """
    yield encode(data).decode()
    for offset in range(3):
        text = encode(b"\0" * offset + data).decode().rstrip("=")
        # Letters at the edges also depend on what stands before and after.
        first = -(-offset * 8 // 6)
        last = (offset + len(data)) * 8 // 6
        yield text[first:last]
