"""Interprets the exit code and the output of a hook. Has no side effects.

Exit code 2 means that the hook refuses the action or message that it checked. With exit code 0, the hook may
print a decision as JSON on its standard output; without this JSON, the hook refuses nothing. Every other exit
code means that the hook failed; a hook that failed refuses nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from agent_runtime.tools.truncate import truncate_middle

MAX_OUTPUT_CHARS = 10_000
REFUSED = 2
_REFUSALS = {"deny", "block"}


@dataclass(frozen=True)
class Outcome:
    """The result of one hook that ran. `is_blocked`: whether the hook refuses the action or message that it
    checked. `reason`: why the hook refuses. `context`: a text that the hook gives to the agent. `error`: why
    the hook failed, so that it gave no decision; None if it did not fail.
    """

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    is_blocked: bool = False
    reason: str | None = None
    context: str | None = None
    error: str | None = None


def of_command(exit_code: int, stdout: bytes, stderr: bytes) -> Outcome:
    out, err = _text(stdout), _text(stderr)
    if exit_code == REFUSED:
        return Outcome(exit_code, out, err, is_blocked=True, reason=err.strip() or out.strip() or None)
    if exit_code != 0:
        return Outcome(exit_code, out, err, error=f"It ended with exit code {exit_code}.")
    said = _json(stdout)
    own = said.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    decision = own.get("permissionDecision") or said.get("decision")
    is_blocked = decision in _REFUSALS or said.get("continue") is False
    reasons = (own.get("permissionDecisionReason"), said.get("reason"), said.get("stopReason"))
    contexts = (own.get("additionalContext"), said.get("additionalContext"))
    return Outcome(0, out, err, is_blocked, reason=_first(reasons), context=_first(contexts))


def failed(error: str) -> Outcome:
    """Returns the result of a hook that failed and therefore gave no decision."""
    return Outcome(exit_code=-1, error=error)


def _json(stdout: bytes) -> Mapping[str, Any]:
    try:
        said = orjson.loads(stdout)
    except orjson.JSONDecodeError:
        return {}  # plain output, of which nothing follows
    return said if isinstance(said, dict) else {}


def _first(texts: tuple[Any, ...]) -> str | None:
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def _text(output: bytes) -> str:
    return truncate_middle(output.decode(errors="replace"), MAX_OUTPUT_CHARS)
