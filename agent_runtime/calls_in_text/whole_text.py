"""Text that can be stored and sent. Pure."""


def whole(text: str) -> str:
    """Returns the text without unpaired surrogates, which JSON cannot carry. Joins two matching halves."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
