"""Prepares texts for requests to git hosts: quotes parts of paths, and cuts bodies to a host's limit.
Pure.
"""

from urllib.parse import quote

_CUT = "\n\n…\n\n*The rest was left out: the host takes {limit} characters.*"


def part(text: str) -> str:
    """Returns the text as one part of a path. Slashes in it are quoted."""
    return quote(text, safe="")


def parts(text: str) -> str:
    """Returns the text as a path. Slashes in it are kept."""
    return quote(text, safe="/")


def cut_to(text: str, limit: int) -> str:
    """Returns the text, cut to `limit` characters with a sentence that says so."""
    if len(text) <= limit:
        return text
    note = _CUT.format(limit=limit)
    return text[: limit - len(note)] + note
