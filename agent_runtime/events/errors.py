"""What went wrong, for people and for programs that decide whether to try again."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, Source


class ErrorClassification(BaseModel):
    """What kind of failure it is, whether trying again can help, and what the user can do about it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    retryable: bool
    user_action: str


class ConversationErrorEvent(Event):
    """A run ended because of this. Running again is allowed."""

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """A socket's answer to a frame it could not accept. Never logged."""

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
