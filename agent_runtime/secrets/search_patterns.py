"""Computes the byte strings (needles) to search for in a text in order to find one secret value."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from agent_runtime.secrets.encoded_forms import lines_of

MIN_BYTES = 8
"""Secret values with fewer bytes than this number are searched for only as one piece of text, not in a split
or changed form, because their letters are scattered in almost any text.
"""
_ASCII, _LATIN = 0x80, 0x100


@dataclass(frozen=True)
class Needles:
    """The byte strings (needles) that reveal a secret value in a text. Each field contains the needles for
    certain changed copies of the text (views, see views.py).

    `plain`: the bytes of the value, for copies with decoded escapes or decoded dumps. `spaced`: the bytes of
    the value without blanks, for copies without blanks. `hexed`: the value in base 16. `coded`: the value in
    base64 and base32, without the first and last letters that also depend on other bytes.
    """

    plain: tuple[bytes, ...] = ()
    spaced: tuple[bytes, ...] = ()
    hexed: tuple[bytes, ...] = ()
    coded: tuple[bytes, ...] = ()

    @property
    def longest(self) -> int:
        return max((len(one) for kind in (self.plain, self.coded, self.hexed) for one in kind), default=0)


def needles_of(value: str) -> Needles:
    texts = [value, value.strip(), *lines_of(value)]
    plain = {data for text in texts for data in _plain(text) if len(data) >= MIN_BYTES}
    encoded_texts = {data for text in texts if len(data := _utf8(text)) >= MIN_BYTES}
    return Needles(
        tuple(plain),
        tuple({one for data in encoded_texts if len(one := b"".join(data.split())) >= MIN_BYTES}),
        tuple(data.hex().encode() for data in encoded_texts),
        tuple({core for data in encoded_texts for core in _cores(data)}),
    )


def joined_needles(all_needles: "tuple[Needles, ...]") -> Needles:
    return Needles(
        tuple(dict.fromkeys(one for needles in all_needles for one in needles.plain)),
        tuple(dict.fromkeys(one for needles in all_needles for one in needles.spaced)),
        tuple(dict.fromkeys(one for needles in all_needles for one in needles.hexed)),
        tuple(dict.fromkeys(one for needles in all_needles for one in needles.coded)),
    )


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _plain(text: str) -> Iterator[bytes]:
    """Yields the bytes of the text in the three encodings in which programs print it. In all three,
    characters above U+00FF are UTF-8. The encodings differ in the characters from U+0080 to U+00FF. If the
    text has no such character, yields only the first encoding.

    First: all these characters are UTF-8. Second: each of them is one byte. Third: only the unprintable ones
    are one byte each, and the printable ones are UTF-8.
    """
    yield _utf8(text)
    if any(_ASCII <= ord(letter) < _LATIN for letter in text):
        yield b"".join(bytes((ord(one),)) if ord(one) < _LATIN else _utf8(one) for one in text)
        yield b"".join(
            bytes((ord(one),)) if ord(one) < _LATIN and not one.isprintable() else _utf8(one) for one in text
        )


def _cores(data: bytes) -> Iterator[bytes]:
    """Yields the base64 and base32 letters by which `data` is found inside longer encoded data. Leaves out
    the first and last letters if they also depend on the bytes before and after `data`.

    Base64 encodes groups of three bytes, base32 groups of five bytes. `data` can begin at each position in a
    group, and the letters are different for each position. So there are three results for base64 and five for
    base32.
    """
    for group, letters, encode in ((3, 4, base64.b64encode), (5, 8, base64.b32encode)):
        for offset in range(group):
            text = encode(b"\0" * offset + data).rstrip(b"=")
            first = -(-offset * letters // group)
            yield text[first : (offset + len(data)) * letters // group]
