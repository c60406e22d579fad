"""Shortens long texts for the model: removes the middle, and keeps the beginning and the end."""

MAX_OUTPUT_CHARS = 30_000


def truncate_middle(text: str, max_chars: int, hint: str = "") -> str:
    """Returns the text. If it is longer than `max_chars`, one line replaces its middle. This line says how
    much is missing, followed by `hint`.
    """
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return join_cut(text[:half], text[-half:], omitted_chars=len(text) - 2 * half, hint=hint)


def join_cut(head: str, tail: str, *, omitted_chars: int, hint: str = "") -> str:
    notice = f"[… {omitted_chars:,} characters left out here{'; ' if hint else ''}{hint} …]"
    return f"{head}\n{notice}\n{tail}"
