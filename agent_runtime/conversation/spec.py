"""What a conversation was started with, as it is kept beside its log: everything but the secrets."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent_runtime.agent.agent import Agent
from agent_runtime.context.discover import discover
from agent_runtime.context.skills import NO_CONTEXT, ProjectContext
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import MASK
from agent_runtime.wire import StartConversationRequest

# The agent's own commands run as the user that owns the log: a key written there would be readable to them.
_SECRET_FIELDS = {
    "api_key",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "env",
    "headers",
    "extra_headers",
    "secrets",
}


class Spec(BaseModel):
    """`agent` in it is masked; the live Agent with its key exists only in memory.

    project: what the agent is told of its project, as it was found at the creation.
    wants_title: somebody asked for it in so many words, since a title costs a call of the model.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    created_at: datetime
    request: StartConversationRequest
    project: ProjectContext = ProjectContext()
    wants_title: bool = False
    forked_from_conversation_id: UUID | None = None
    forked_from_event_id: str | None = None

    @classmethod
    def of(cls, conversation_id: UUID, request: StartConversationRequest, agent: Agent) -> "Spec":
        body = {**request.model_dump(mode="json"), "agent": agent.model_dump(mode="json")}
        kept = StartConversationRequest.model_validate(mask(body))
        wants_title = request.autotitle and "autotitle" in request.model_fields_set and not request.title
        return cls(
            id=conversation_id,
            created_at=datetime.now(UTC),
            request=kept,
            project=discover(agent.agent_context or NO_CONTEXT, Path(request.workspace.working_dir)),
            wants_title=wants_title,
        )

    @property
    def agent(self) -> JsonObject:
        return self.request.agent

    @property
    def working_dir(self) -> Path:
        return Path(self.request.workspace.working_dir)


def mask(value: Any) -> Any:
    """A copy in which every value that stands in a secret's place is replaced by asterisks."""
    if isinstance(value, list):
        return [mask(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _hidden(item) if name.lower() in _SECRET_FIELDS else mask(item) for name, item in value.items()
    }


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return value if value is None else MASK
