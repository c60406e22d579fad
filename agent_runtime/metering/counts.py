"""Reading what a model's server sent: the value if it is of the type, else an empty one."""

from typing import Any

MAX_TOKENS = 2**53


def a_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def a_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS:
        return 0
    return int(value)
