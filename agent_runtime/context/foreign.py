"""Text of outsiders as the model sees it: between marks that nothing in the text can forge."""

import re

_INVISIBLE = "[\\s\\u00ad\\u200b-\\u200f\\u2060-\\u2064\\ufeff]*"
_LOOKS_LIKE_MARK = re.compile(
    "[<\\uff1c\\u2039\\u3008]" + _INVISIBLE + "(?=/?" + _INVISIBLE + _INVISIBLE.join("untrusted") + ")",
    re.IGNORECASE,
)
# Letters that no person sees and models read, and those that make a line read otherwise than it is.
_HIDDEN = re.compile("[\\U000e0000-\\U000e007f\\u202a-\\u202e\\u2066-\\u2069]+")


def marked(text: str, source: str, event_id: str) -> str:
    """source: the tool. event_id: of the result, made at random after the text was there, so that its author
    cannot know how the end will look. The same in every replay.
    """
    mark = event_id[-12:]
    harmless = _LOOKS_LIKE_MARK.sub("&lt;", _HIDDEN.sub("", text))
    return f'<untrusted from="{source}" mark="{mark}">\n{harmless}\n</untrusted mark="{mark}">'
