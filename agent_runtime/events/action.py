"""Defines the events for the tool calls of the agent."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, JsonObject, Source
from agent_runtime.events.content import TextContent
from agent_runtime.events.critic import CriticResult
from agent_runtime.events.vendor_state import OptionalVendorState

SecurityRisk = Literal["UNKNOWN", "LOW", "MEDIUM", "HIGH"]


class ToolCall(BaseModel):
    """A tool call as the model wrote it. `arguments`: the arguments as JSON; this text is valid JSON even if
    the model wrote broken JSON.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    name: str
    arguments: str
    responses_item_id: str | None = None
    origin: Literal["completion", "responses"] = "completion"
    vendor_state: OptionalVendorState = None


class ActionEvent(Event):
    """The event for one tool call of the agent. All calls in one reply of the model have the same
    `llm_response_id`. Only the first of these events contains the thought and the reasoning of the reply.

    `tool_call`: the call as the model wrote it. `action`: the parsed arguments of the call, with the field
    `kind` that names their type; null if the call cannot run because the tool is unknown or the arguments are
    not valid.
    """

    source: Source = "agent"
    thought: list[TextContent] = []
    reasoning_content: str | None = None
    thinking_blocks: list[Any] = []
    responses_reasoning_item: JsonObject | None = None
    action: JsonObject | None = None
    tool_name: str
    tool_call_id: str
    tool_call: ToolCall
    llm_response_id: str
    security_risk: SecurityRisk = "UNKNOWN"
    summary: str | None = None
    critic_result: CriticResult | None = None
    kind: Literal["ActionEvent"] = "ActionEvent"
