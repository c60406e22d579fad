"""Reads numbers and objects from JSON that a model's server sent. A value of an unexpected type counts as 0
or as an empty object.
"""

from typing import Any

MAX_TOKENS = 2**53


def a_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def a_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS:
        return 0
    return int(value)
