"""Reads JSON that may contain comments and trailing commas, as in the configuration files of editors."""

import json
import re
from typing import Any

# An unclosed string or comment ends with the text, so matching takes linear time for any text.
_STRING = r'("(?:\\.|[^"\\])*(?:"|\Z))'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)


def parse_jsonc(text: str) -> Any:
    """Parses JSON with comments and trailing commas, and returns the value. Raises ValueError with the line
    and column of a syntax error.
    """
    # A comment is replaced by spaces and newlines, so that lines and columns stay the same.
    plain = _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    try:
        return json.loads(_LAST_COMMA.sub(lambda found: found[1] or " ", plain))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
