"""Defines the event that records one run of a hook, and the points of a conversation at which hooks run. A
hook is a command, or a question to a model, that runs at such a point and may refuse an action.
"""

from enum import StrEnum
from typing import Literal

from agent_runtime.events.base import Event, JsonObject, Source


class HookPoint(StrEnum):
    """The points in a conversation at which hooks (commands, or questions to a model) run, for example before
    a tool call.
    """

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    STOP = "Stop"


class HookExecutionEvent(Event):
    """The event for one run of a hook. `blocked`: whether the hook refused what it checked: an action, a
    message, or the end of the agent's work. `error`: why the hook gave no decision; None if it gave a
    decision.
    """

    source: Source = "hook"
    hook_event_type: HookPoint
    hook_command: str
    tool_name: str | None = None
    success: bool
    blocked: bool = False
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    reason: str | None = None
    additional_context: str | None = None
    error: str | None = None
    action_id: str | None = None
    message_id: str | None = None
    hook_input: JsonObject | None = None
    kind: Literal["HookExecutionEvent"] = "HookExecutionEvent"
