"""The specification of a conversation: the data with which the conversation was created. It is stored in the
log file, apart from the events and without secrets.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent_runtime.agent.agent import Agent
from agent_runtime.context.discover import discover
from agent_runtime.context.git_state import GitState
from agent_runtime.context.skills import NO_CONTEXT, ProjectContext
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import MASK
from agent_runtime.wire import StartConversationRequest

# The agent's commands may run as the user that owns the log. So they could read a key that is written there.
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
_CREDENTIAL_FIELDS = {*_SECRET_FIELDS, "client_secret", "password", "state", "value"}
"""The names of the secret fields inside the object `auth` of an MCP server's configuration. Other fields of
`auth`, such as `strategy`, are not secret.
"""


class Spec(BaseModel):
    """The specification of a conversation: the data with which the conversation was created. Secrets in it
    are masked. The agent's API keys are not part of it; they are in memory and, if encryption is available,
    encrypted on disk.

    `project`: the instructions and skills that were found when the conversation was created. `git`: the git
    state of the repository at that time. `wants_title`: whether a title is created from the first message,
    because the request that created the conversation contained no title.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    created_at: datetime
    request: StartConversationRequest
    project: ProjectContext = ProjectContext()
    git: GitState | None = None
    wants_title: bool = False
    forked_from_conversation_id: UUID | None = None
    parent_conversation_id: UUID | None = None
    forked_from_event_id: str | None = None

    @classmethod
    def of(
        cls,
        conversation_id: UUID,
        request: StartConversationRequest,
        agent: Agent,
        git: GitState | None = None,
    ) -> "Spec":
        # The first message is left out: the log contains it, with masked secrets.
        asked = request.model_dump(mode="json", exclude={"initial_message", "secrets"})
        body = {**asked, "agent": agent.model_dump(mode="json")}
        # The content of these files is in `project` below. Without this, every published state would also
        # contain the files.
        (body["agent"].get("agent_context") or {}).pop("skill_files", None)
        masked_request = StartConversationRequest.model_validate(mask(body))
        wants_title = request.autotitle and not request.title
        return cls(
            id=conversation_id,
            created_at=datetime.now(UTC),
            request=masked_request,
            project=discover(agent.agent_context or NO_CONTEXT, Path(request.workspace.working_dir)),
            git=git,
            wants_title=wants_title,
            parent_conversation_id=request.parent_conversation_id,
        )

    @property
    def agent(self) -> JsonObject:
        return self.request.agent

    @property
    def working_dir(self) -> Path:
        return Path(self.request.workspace.working_dir)


Hide = Callable[[Any], Any]


def _asterisks(_: Any) -> str:
    return MASK


def mask(value: Any, hide: Hide = _asterisks) -> Any:
    """Returns a copy of a JSON value in which secrets are replaced, for example the value of each field with
    the name `api_key`. `value`: a JSON object, a list or a single value. `hide`: a function that gets a
    secret and returns its replacement; the default returns asterisks.
    """
    if isinstance(value, list):
        return [mask(item, hide) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _mask_field(name.lower(), item, hide) for name, item in value.items()}


def _mask_field(name: str, value: Any, hide: Hide) -> Any:
    if name in _SECRET_FIELDS:
        return _hidden(value, hide)
    if name == "auth" and isinstance(value, dict):
        return {
            key: _hidden(item, hide) if key in _CREDENTIAL_FIELDS else item for key, item in value.items()
        }
    return mask(value, hide)


def _hidden(value: Any, hide: Hide) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(item, hide) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item, hide) for item in value]
    return value if value is None else hide(value)
