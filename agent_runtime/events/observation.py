"""Defines the events with the results of tool calls. There is exactly one such event for every
`tool_call_id`.
"""

from typing import Literal

from agent_runtime.events.base import Event, JsonObject, Source
from agent_runtime.events.content import TextContent
from agent_runtime.events.errors import ErrorClassification


class ObservationEvent(Event):
    """The event for a tool call that has run. `observation`: the tool's result as JSON; its field `kind`
    names the type of the result.
    """

    source: Source = "environment"
    tool_name: str
    tool_call_id: str
    observation: JsonObject
    action_id: str
    extended_content: list[TextContent] = []
    kind: Literal["ObservationEvent"] = "ObservationEvent"


class AgentErrorEvent(Event):
    """The event for a tool call that ended with an error, was interrupted or cannot run. `error`: the text
    from which the model learns why the call failed.
    """

    source: Source = "agent"
    tool_name: str
    tool_call_id: str
    error: str
    classification: ErrorClassification | None = None
    kind: Literal["AgentErrorEvent"] = "AgentErrorEvent"


class UserRejectObservation(Event):
    """The event for an action that a person or a hook has refused."""

    source: Source = "environment"
    tool_name: str
    tool_call_id: str
    rejection_reason: str
    rejection_source: Literal["user", "hook"] = "user"
    action_id: str
    kind: Literal["UserRejectObservation"] = "UserRejectObservation"


ToolResult = ObservationEvent | AgentErrorEvent | UserRejectObservation
