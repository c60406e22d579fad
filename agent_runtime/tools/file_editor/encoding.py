"""Guesses the encoding of text files that are not UTF-8.

Even a wrong guess loses no bytes: the chosen encoding always converts the bytes of the file to text and back
to the same bytes.
"""

# Common encodings besides UTF-8. A short list makes guesses better.
_CANDIDATES = (
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
    "cp1251",
    "koi8_r",
    "cp1252",
    "latin_1",
)
_WESTERN = {"cp1252", "latin_1"}
# One or two words are enough to recognize an alphabet; a single accented letter is not.
_TELLING_BYTES = 4
_SAMPLE_BYTES = 256 * 1024
_ANY = "latin-1"
"""The fallback: any bytes are valid latin-1, and encoding gives the same bytes back."""


def guess_encoding(data: bytes) -> str:
    """Returns an encoding in which `data` can be read as text. If `data` is decoded and encoded again with
    this encoding, no byte changes.
    """
    telling = sum(byte > 0x7F for byte in data[:_SAMPLE_BYTES])
    guess = _ANY if telling < _TELLING_BYTES else _detect(data[:_SAMPLE_BYTES])
    if guess in _WESTERN:
        # Both have the same letters, but only cp1252 has quotes and the euro sign.
        guess = "cp1252" if any(0x80 <= byte < 0xA0 for byte in data) else _ANY
    return guess if _comes_back(data, guess) else _ANY


def _detect(sample: bytes) -> str:
    # Loaded with the first such file: most projects have none.
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(_CANDIDATES)).best()
    return _ANY if best is None else best.encoding


def _comes_back(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).encode(encoding) == data
    except UnicodeError:
        return False
