"""The events for the agent's tool calls."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, JsonObject, Source
from agent_runtime.events.content import TextContent
from agent_runtime.events.critic import CriticResult
from agent_runtime.events.vendor_state import KeptState

SecurityRisk = Literal["UNKNOWN", "LOW", "MEDIUM", "HIGH"]


class ToolCall(BaseModel):
    """The call as the model wrote it. `arguments` is always valid JSON."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    name: str
    arguments: str
    responses_item_id: str | None = None
    origin: Literal["completion", "responses"] = "completion"
    vendor_state: KeptState = None


class ActionEvent(Event):
    """One tool call. The calls of one reply share `llm_response_id`; only the first has the thought and the
    reasoning.

    `action` is the tool's Action with its `kind`; null if the call could not be understood.
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
