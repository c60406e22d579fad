"""The events that contain the results of tool calls. Every `tool_call_id` gets exactly one of them."""

from typing import Literal

from agent_runtime.events.base import Event, JsonObject, Source
from agent_runtime.events.content import TextContent
from agent_runtime.events.errors import ErrorClassification


class ObservationEvent(Event):
    """The tool ran. `observation`: its Observation with its `kind`."""

    source: Source = "environment"
    tool_name: str
    tool_call_id: str
    observation: JsonObject
    action_id: str
    extended_content: list[TextContent] = []
    kind: Literal["ObservationEvent"] = "ObservationEvent"


class AgentErrorEvent(Event):
    """The tool did not run to its end. `error`: a text for the model, which acts on it."""

    source: Source = "agent"
    tool_name: str
    tool_call_id: str
    error: str
    classification: ErrorClassification | None = None
    kind: Literal["AgentErrorEvent"] = "AgentErrorEvent"


class UserRejectObservation(Event):
    """A person or a hook refused the action."""

    source: Source = "environment"
    tool_name: str
    tool_call_id: str
    rejection_reason: str
    rejection_source: Literal["user", "hook"] = "user"
    action_id: str
    kind: Literal["UserRejectObservation"] = "UserRejectObservation"


ToolResult = ObservationEvent | AgentErrorEvent | UserRejectObservation
