"""Takes a credential out of an answer: some hosts repeat what they were sent.

Found in clear, backwards, in capitals, quoted as in URLs and JSON, in base64 (wherever in a longer text it
begins) and in hexadecimal; a host that compresses or encrypts it passes.
"""

import base64
import json
from collections.abc import Collection
from urllib.parse import quote

MIN_CHARACTERS = 8
"""Shorter ones would blot out what only looks alike."""


class Echoes:
    """Of one answer. `values`: what is not to be seen; those of fewer than `min_characters` are.

    instead: what takes the place of one. None: an asterisk for each character, so that lengths stay what they
    were said to be.
    """

    def __init__(
        self,
        values: Collection[str],
        *,
        min_characters: int = MIN_CHARACTERS,
        instead: bytes | None = None,
    ) -> None:
        found = {form for value in values if len(value) >= min_characters for form in _forms(value)}
        self._forms = sorted(found, key=len, reverse=True)
        self._instead = instead
        self._held = b""

    def hide(self, text: bytes) -> bytes:
        for form in self._forms:
            text = text.replace(form, b"*" * len(form) if self._instead is None else self._instead)
        return text

    def feed(self, piece: bytes) -> bytes:
        """What is ready: the beginning of a value waits for what follows."""
        text = self.hide(self._held + piece)
        keep = max((_overlap(text, form) for form in self._forms), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> bytes:
        held, self._held = self._held, b""
        return held


def _forms(value: str) -> set[bytes]:
    data = value.encode()
    texts = {
        value,
        value[::-1],
        value.upper(),
        value.lower(),
        quote(value, safe=""),
        json.dumps(value)[1:-1],
        data.hex(),
        data.hex().upper(),
    }
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            whole = encode(b"\0" * offset + data).decode().rstrip("=")
            # Letters at the edges also depend on what stands before and after.
            texts.add(whole[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6])
    return {text.encode() for text in texts if len(text) >= MIN_CHARACTERS}


def _overlap(text: bytes, form: bytes) -> int:
    """How many bytes at the end of the text are a beginning of the form."""
    longest = min(len(text), len(form) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(form[:size])), 0)
