"""Removes credentials from a server's reply, because some servers repeat the credentials that they have
received.

Finds a credential in plain text, reversed, in upper or lower case, quoted as in URLs and JSON, in base64 (at
any position in a longer text) and in hexadecimal. Does not find a credential that the server has compressed
or encrypted.
"""

import base64
import json
from collections.abc import Collection
from urllib.parse import quote

MIN_CHARACTERS = 8
"""The minimum length of the secret values that are removed. A shorter value could be equal to other text by
chance.
"""


class ResponseRedaction:
    """A filter that removes secret values from one reply of a server, piece by piece.

    `values`: the secret texts to remove. Values with fewer than `min_characters` characters are not removed.
    `instead`: the text that replaces a value. None means one asterisk for each character, so that the length
    of the reply does not change.
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
        """Takes the next piece of the reply and returns the part that can be sent now, with secrets replaced.
        If the end of the piece may be the beginning of a secret value, this end is returned only by a later
        call.
        """
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
            encoded = encode(b"\0" * offset + data).decode().rstrip("=")
            # The letters at the edges also depend on the text before and after.
            texts.add(encoded[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6])
    return {text.encode() for text in texts if len(text) >= MIN_CHARACTERS}


def _overlap(text: bytes, form: bytes) -> int:
    """Returns how many bytes at the end of `text` may be the beginning of a secret. `form`: the encoded
    secret. Example: 2 for the text `xab` and the secret `abc`. These bytes are held back, because the next
    piece of the reply may complete the secret.
    """
    longest = min(len(text), len(form) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(form[:size])), 0)
