"""Defines the events for messages that users, the agent and the runtime write."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, JsonObject, Source
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.critic import CriticResult
from agent_runtime.events.vendor_state import OptionalVendorState

Role = Literal["user", "system", "assistant", "tool"]


class Message(BaseModel):
    """A chat message in the format of the model vendors' chat APIs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Role
    content: list[Content] = []
    reasoning_content: str | None = None
    thinking_blocks: list[Any] = []
    responses_reasoning_item: JsonObject | None = None
    vendor_state: OptionalVendorState = None

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))

    @classmethod
    def of(cls, role: Role, text: str) -> Self:
        return cls(role=role, content=[TextContent(text=text)] if text else [])


class MessageEvent(Event):
    """The event for a message in a conversation. `extended_content`: text that skills and hooks add to the
    message; only the model sees it.
    """

    source: Source = "user"
    llm_message: Message
    llm_response_id: str | None = None
    activated_skills: list[str] = []
    extended_content: list[TextContent] = []
    critic_result: CriticResult | None = None
    sender: str | None = None
    """The name of the person who wrote the message. None means the owner of the conversation."""
    kind: Literal["MessageEvent"] = "MessageEvent"


def runtime_message(text: str) -> MessageEvent:
    """Returns the event for a message to the agent that no person has written: the runtime (the program that
    runs the agent) has written it.
    """
    return MessageEvent(source="environment", llm_message=Message.of("user", text))


class SystemPromptEvent(Event):
    """The first event of a log: the agent's system prompt and its tools."""

    source: Source = "agent"
    system_prompt: TextContent
    tools: list[JsonObject] = []
    kind: Literal["SystemPromptEvent"] = "SystemPromptEvent"


class LLMCompletionLogEvent(Event):
    """The event with one request to a model and the model's reply. It is sent to clients, which may write it
    to a file. It is never added to the log of the conversation.

    `filename`: the name of this file, without a directory; the client chooses the directory. `log_data`: the
    request and the reply as JSON.
    """

    source: Source = "environment"
    filename: str
    log_data: str
    model_name: str = "unknown"
    usage_id: str = "default"
    kind: Literal["LLMCompletionLogEvent"] = "LLMCompletionLogEvent"


class StreamingDeltaEvent(Event):
    """An event with a piece of the model's reply, sent while the model writes. It is never added to the
    log.
    """

    source: Source = "agent"
    content: str | None = None
    reasoning_content: str | None = None
    kind: Literal["StreamingDeltaEvent"] = "StreamingDeltaEvent"
