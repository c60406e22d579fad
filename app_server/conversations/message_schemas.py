"""Schemas of the requests and replies about messages that users send to a conversation's agent."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agent_runtime.events.content import Content, TextContent
from agent_runtime.wire import SendMessageRequest as AgentMessage
from app_server.core.database import Timestamp
from app_server.core.errors import BadRequest, PayloadTooLarge
from app_server.http.strict_body import StrictBody
from app_server.sandbox_records.models import SandboxStatus

MAX_CONTENT_PARTS = 100

MessageId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]


class SendMessageRequest(StrictBody):
    """The request body for sending a user's message to the agent. A client can safely send a message again
    with the same `id`: the agent receives the message only once. `run`: whether the agent begins to work, if
    it is not working yet.
    """

    id: MessageId | None = None
    role: Literal["user"] = "user"
    content: Annotated[list[Content], Field(min_length=1, max_length=MAX_CONTENT_PARTS)]
    run: bool = True

    def to_agent(self, message_id: str, sender: str | None = None) -> AgentMessage:
        """Returns the message in the form that the agent server accepts. sender: the name of the person who
        wrote the message; None means the owner of the conversation.
        """
        return AgentMessage(id=message_id, role=self.role, content=self.content, run=self.run, sender=sender)


class SendMessageReply(BaseModel):
    success: bool
    sandbox_status: SandboxStatus
    message: str | None = None


class QueuedMessage(BaseModel):
    """The API's reply when a user sends a message to a conversation that is starting. `queued`: whether the
    message waits for the end of the start. `position`: the place of the message in the queue, from 1.

    If the agent has already received the message, `queued` is false and `position` is 0.
    """

    id: str
    queued: bool
    position: int


class WaitingMessage(BaseModel):
    """A message that a user has sent and that the agent has not received yet."""

    id: str
    content: list[Content]
    created_at: Timestamp
    sender: str | None = None
    """The name of the person who wrote the message. Null: the owner of the conversation."""


def require_sendable(message: SendMessageRequest, max_bytes: int) -> None:
    """Checks that a new message is not empty and not too large. max_bytes: the maximum size of the message's
    text.

    Raises BadRequest `message_empty` if the message is empty. Raises PayloadTooLarge `message_too_large` if
    its text is too large.
    """
    texts = [part.text for part in message.content if isinstance(part, TextContent)]
    if len(texts) == len(message.content) and not any(text.strip() for text in texts):
        raise BadRequest(
            "The message is empty.", code="message_empty", fix="Send a text or an image for the agent."
        )
    if sum(len(text.encode()) for text in texts) > max_bytes:
        raise PayloadTooLarge(
            f"The message's text is larger than {max_bytes} bytes.", code="message_too_large"
        )
