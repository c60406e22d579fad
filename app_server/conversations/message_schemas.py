"""Schemas of the messages that users send to a conversation."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agent_runtime.events.content import Content, TextContent
from agent_runtime.wire import SendMessageRequest as AgentMessage
from app_server.core.database import Timestamp
from app_server.core.errors import BadRequest, PayloadTooLarge
from app_server.sandbox_records.models import SandboxStatus

MAX_CONTENT_PARTS = 100

MessageId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]


class SendMessageRequest(BaseModel):
    """The request body with a message of the user. If a client sends the message again with the same `id`,
    the agent gets it only once.
    """

    id: MessageId | None = None
    role: Literal["user"] = "user"
    content: Annotated[list[Content], Field(min_length=1, max_length=MAX_CONTENT_PARTS)]
    run: bool = True

    def to_agent(self, message_id: str, sender: str | None = None) -> AgentMessage:
        """Returns the message in the form that the agent server accepts. `sender`: the name of the person who
        wrote the message; None means the owner of the conversation.
        """
        return AgentMessage(id=message_id, role=self.role, content=self.content, run=self.run, sender=sender)


class SendMessageReply(BaseModel):
    success: bool
    sandbox_status: SandboxStatus
    message: str | None = None


class QueuedMessage(BaseModel):
    """The reply of the route `pending-messages`, which stores a message for a conversation that is starting.
    `position`: the position in the queue, counted from 1.

    If the agent already has the message, `queued` is false and `position` is 0.
    """

    id: str
    queued: bool
    position: int


class WaitingMessage(BaseModel):
    """A message in a reply: a user has sent it, but the agent has not received it yet."""

    id: str
    content: list[Content]
    created_at: Timestamp
    sender: str | None = None
    """The name of the person who wrote the message. Null: the owner of the conversation."""


def require_sendable(message: SendMessageRequest, max_bytes: int) -> None:
    """Checks a new message. max_bytes: the limit of its text.

    Raises BadRequest `message_empty` and PayloadTooLarge `message_too_large`.
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
