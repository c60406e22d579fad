"""How long texts are shortened for the model: the middle goes, head and tail stay."""

MAX_OUTPUT_CHARS = 30_000


def truncate_middle(text: str, max_chars: int, hint: str = "") -> str:
    """`text` itself, or its head and tail with a line between that says how much is missing and `hint`."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return join_cut(text[:half], text[-half:], omitted_chars=len(text) - 2 * half, hint=hint)


def join_cut(head: str, tail: str, *, omitted_chars: int, hint: str = "") -> str:
    notice = f"[… {omitted_chars:,} characters left out here{'; ' if hint else ''}{hint} …]"
    return f"{head}\n{notice}\n{tail}"
