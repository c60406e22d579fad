"""Puts marks around foreign texts: texts that neither the user nor the runtime has written.

The marks tell the model that the text between them is data. The author of such a text cannot know the mark,
so the text cannot contain the end mark.
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
# Characters that people cannot see but models read, and characters that change the direction of a text.
_HIDDEN = re.compile("[\\U000e0000-\\U000e007f\\u202a-\\u202e\\u2066-\\u2069]+")
_KEY = secrets.token_bytes(16)


def marked(text: str, source: str, event_id: str) -> str:
    """Adds a mark before and after the text of a tool result. The marks tell the model that the text is data
    and no instruction. `source`: the tool that returned the text. `event_id`: the random id of the tool
    result's event.

    The marks contain the last characters of this id. The id is created after the text, so the author of the
    text cannot know the end mark. A replay of the conversation gives the same marks.
    """
    mark = event_id[-12:]
    return f'<untrusted from="{source}" mark="{mark}">\n{_harmless(text)}\n</untrusted mark="{mark}">'


def of_repository(text: str, file: str) -> str:
    """Adds a mark before and after a text from a repository, so that the model treats the text as untrusted.
    Returns the text with the marks. `file`: the path of the file that contains the text; the path is not
    trusted either.

    The mark is computed from the path, the text and a secret key of this process. So the author of the text
    cannot know the mark. The same text of the same file always gets the same mark. So the prompt stays the
    same, and the vendor can use its prompt cache. The event log stores the text with its marks.
    """
    mark = blake2b(f"{file}\n{text}".encode(), key=_KEY, digest_size=6).hexdigest()
    name = _harmless(json.dumps(file, ensure_ascii=False))
    return f'<from_repository file={name} mark="{mark}">\n{_harmless(text)}\n</from_repository mark="{mark}">'


def failure(tool: str, why: str) -> str:
    """Returns the text that is logged as the result of a failed tool call. `why`: the reason, which may
    contain foreign text.
    """
    return f"`{tool}` failed: {why}"


def marked_failure(text: str, tool: str, event_id: str) -> str:
    """Returns the text of a failed tool call as the model sees it. `text`: the logged text.

    If the function `failure` has made the text, there are marks around the reason, which may contain foreign
    text. The runtime itself has written any other text, so this text is returned without marks.
    """
    opening = failure(tool, "")
    if not text.startswith(opening):
        return text
    return f"{opening.rstrip()}\n{marked(text.removeprefix(opening), tool, event_id)}"


def _harmless(text: str) -> str:
    return _LOOKS_LIKE_MARK.sub("&lt;", _HIDDEN.sub("", text))
