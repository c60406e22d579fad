"""Prepares texts for requests to git hosts: quotes parts of URL paths, and cuts texts to a host's size limit.
Does no I/O.
"""

from urllib.parse import quote

_CUT = "\n\n…\n\n*The rest was left out: the host takes {limit} characters.*"


def part(text: str) -> str:
    """Returns the text percent-encoded as a single segment of a URL path. Slashes in the text are also
    encoded.
    """
    return quote(text, safe="")


def parts(text: str) -> str:
    """Returns the text percent-encoded as a URL path. Slashes in the text are not encoded."""
    return quote(text, safe="/")


def cut_to(text: str, limit: int) -> str:
    """Returns the text, cut to at most `limit` characters. A cut text ends with a sentence that says that it
    was cut.
    """
    if len(text) <= limit:
        return text
    note = _CUT.format(limit=limit)
    return text[: limit - len(note)] + note
