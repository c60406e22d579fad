"""Decodes escape sequences of programming languages, shells, URLs and HTML pages in texts, so that a secret
value that is written with escapes is found.
"""

import re

from agent_runtime.secrets.views import TextView, replaced

_BACKSLASH = re.compile(
    rb"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3]?[0-7]{1,2})|(.))",
    re.DOTALL,
)
_WEB = re.compile(rb"%([0-9a-fA-F]{2})|&#(\d{1,7});|&#[xX]([0-9a-fA-F]{1,6});|&(amp|lt|gt|quot|apos);")
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v",
            b"e": b"\x1b"}  # fmt: skip
_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_HIGHEST = 0x10FFFF

UNFINISHED = re.compile(
    rb"(?:(?<!\\)\\+(?:x[0-9a-fA-F]?|u(?:\{[0-9a-fA-F]{0,6}|[0-9a-fA-F]{0,4}|[dD][89abAB][0-9a-fA-F]{2}\\+u?[0-9a-fA-F]{0,3})"
    rb"|U[0-9a-fA-F]{0,7}|[0-7]{0,3})?|%(?:25)*[0-9a-fA-F]?|&(?:#?[0-9a-zA-Z]{0,8})|(?<![0-9A-Za-z])0[xX]?)\Z"
)
"""Matches the beginning of an escape sequence at the end of a text that has not arrived completely."""


def unescaped(base: TextView) -> TextView | None:
    """Decodes the backslash escapes of JSON, Python, C and shells in a text. Returns the decoded text as a
    TextView, which can tell where each of its bytes stands in the original text. Returns None if the text
    contains no backslash.
    """
    return replaced(base, _BACKSLASH, _of_backslash) if b"\\" in base.data else None


def unquoted(base: TextView) -> TextView | None:
    """Decodes the escapes of URLs and HTML pages in a text. Returns the decoded text as a TextView, which can
    tell where each of its bytes stands in the original text. Returns None if the text contains no such
    escape.
    """
    return replaced(base, _WEB, _of_web) if _WEB.search(base.data) else None


def _of_backslash(match: re.Match[bytes]) -> bytes:
    byte, braced, high, low, short, long, octal, letter = match.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    if byte is not None:
        return bytes((int(byte, 16),))
    if octal is not None:
        return bytes((int(octal, 8),))
    if high is not None:
        return (bytes.fromhex(high.decode()) + bytes.fromhex(low.decode())).decode("utf-16-be").encode()
    return _character(int(braced or short or long, 16), match[0])


def _of_web(match: re.Match[bytes]) -> bytes:
    byte, decimal, number, name = match.groups()
    if byte is not None:
        return bytes((int(byte, 16),))
    if name is not None:
        return _NAMED[name]
    if decimal is not None:
        return _character(int(decimal), match[0])
    return _character(int(number, 16), match[0])


def _character(number: int, written: bytes) -> bytes:
    return chr(number).encode("utf-8", "surrogatepass") if number <= _HIGHEST else written
