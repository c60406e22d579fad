"""Converts the names of keys to the bytes that a terminal sends for them."""

_NAMED = {
    "UP": b"\x1b[A",
    "DOWN": b"\x1b[B",
    "RIGHT": b"\x1b[C",
    "LEFT": b"\x1b[D",
    "HOME": b"\x1b[H",
    "END": b"\x1b[F",
    "PGUP": b"\x1b[5~",
    "PGDN": b"\x1b[6~",
    "TAB": b"\t",
    "ESC": b"\x1b",
    "BS": b"\x7f",
    "ENTER": b"\n",
    "C-\\": b"\x1c",
}


def key_bytes(text: str) -> bytes:
    """Returns the bytes that a terminal sends for the named key. If `text` is not the name of a key, returns
    the text followed by Enter.
    """
    key = text.strip()
    if named := _NAMED.get(key.upper()):
        return named
    if len(key) == 3 and key[:2].upper() == "C-" and key[2].isascii() and key[2].isalpha():
        return bytes([ord(key[2].upper()) & 0x1F])
    return text.removesuffix("\n").encode("utf-8", "replace") + b"\n"
