"""Texts that others than the user and the runtime have written, as the model sees them: between marks that
nothing in the text can forge.
"""

import json
import re
import secrets
from hashlib import blake2b

_INVISIBLE = "[\\s\\u00ad\\u200b-\\u200f\\u2060-\\u2064\\ufeff]*"
_LOOKS_LIKE_MARK = re.compile(
    "[<\\uff1c\\u2039\\u3008]"
    + _INVISIBLE
    + "(?=/?"
    + _INVISIBLE
    + f"(?:{'|'.join(_INVISIBLE.join(name) for name in ('untrusted', 'from_repository'))}))",
    re.IGNORECASE,
)
# Letters that no person sees and models read, and those that make a line read otherwise than it is.
_HIDDEN = re.compile("[\\U000e0000-\\U000e007f\\u202a-\\u202e\\u2066-\\u2069]+")
_KEY = secrets.token_bytes(16)


def marked(text: str, source: str, event_id: str) -> str:
    """source: the tool. event_id: of the result, made at random after the text was there, so that its author
    cannot know how the end will look. The same in every replay.
    """
    mark = event_id[-12:]
    return f'<untrusted from="{source}" mark="{mark}">\n{_harmless(text)}\n</untrusted mark="{mark}">'


def of_repository(text: str, file: str) -> str:
    """For a text that is logged as it is shown. file: whence, or what it is; it may be anybody's, too.

    The mark follows from the text and a key of this process: its author cannot know it, and the same
    instructions make the same prompt, which vendors keep.
    """
    mark = blake2b(f"{file}\n{text}".encode(), key=_KEY, digest_size=6).hexdigest()
    name = _harmless(json.dumps(file, ensure_ascii=False))
    return f'<from_repository file={name} mark="{mark}">\n{_harmless(text)}\n</from_repository mark="{mark}">'


def failure(tool: str, why: str) -> str:
    """What the log says of a call that its tool could not answer. why: may have been written by anyone."""
    return f"`{tool}` failed: {why}"


def marked_failure(text: str, tool: str, event_id: str) -> str:
    """The same as the model sees it; any other text about a call is the runtime's own and stays."""
    opening = failure(tool, "")
    if not text.startswith(opening):
        return text
    return f"{opening.rstrip()}\n{marked(text.removeprefix(opening), tool, event_id)}"


def _harmless(text: str) -> str:
    return _LOOKS_LIKE_MARK.sub("&lt;", _HIDDEN.sub("", text))
