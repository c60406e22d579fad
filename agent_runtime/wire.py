"""Request and response models of the agent server, shared by the server and by everybody who calls it.

Requests keep fields they do not know: clients of several versions send them, and they come back in the info.
"""

import re
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, SerializationInfo, field_serializer, field_validator

from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.message import Message
from agent_runtime.events.state import ExecutionStatus

API_KEY_HEADER = "X-Session-API-Key"

MAX_MESSAGE_BYTES = 1024 * 1024

# JSON can write them, UTF-8 cannot.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Success(BaseModel):
    success: bool = True


class LocalWorkspace(BaseModel):
    """Where the agent works: a directory of the machine the agent server runs on."""

    model_config = ConfigDict(frozen=True, extra="allow")

    working_dir: str = Field(min_length=1, max_length=4096)
    kind: Literal["LocalWorkspace"] = "LocalWorkspace"


class SendMessageRequest(BaseModel):
    """A message for the agent. `id` makes it idempotent: a repeated id is accepted and changes nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str | None = Field(default=None, min_length=1, max_length=128)
    role: Literal["user", "system", "assistant", "tool"] = "user"
    content: list[Content] = []
    run: bool = False

    @field_validator("content", mode="after")
    @classmethod
    def _is_storable(cls, content: list[Content]) -> list[Content]:
        for part in content:
            if isinstance(part, TextContent) and _SURROGATE.search(part.text):
                raise ValueError("text must not hold lone surrogates")
        return content

    @classmethod
    def of(cls, text: str, *, id: str | None = None, run: bool = False) -> "SendMessageRequest":  # noqa: A002
        return cls(id=id, content=[TextContent(text=text)], run=run)

    @property
    def size_bytes(self) -> int:
        """How much text it carries, in UTF-8."""
        return sum(len(part.text.encode()) for part in self.content if isinstance(part, TextContent))

    def to_message(self) -> Message:
        return Message(role=self.role, content=self.content)


class StuckDetectionThresholds(BaseModel):
    """After how many repetitions an agent goes in circles: at these it is told, at the next it stops."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action_observation: int = Field(default=4, ge=2, le=50, description="The same call with the same result")
    action_error: int = Field(default=3, ge=2, le=50, description="The same call, failing")
    monologue: int = Field(default=3, ge=2, le=50, description="Messages of the agent in a row")
    alternating_pattern: int = Field(default=6, ge=4, le=50, description="Calls in the pattern A, B, A, B …")


class StartConversationRequest(BaseModel):
    """What brings a conversation into being. `agent` is the agent's specification as data."""

    model_config = ConfigDict(frozen=True, extra="allow")

    agent: JsonObject
    workspace: LocalWorkspace
    conversation_id: UUID | None = None
    initial_message: SendMessageRequest | None = None
    max_iterations: int = Field(default=500, ge=1, le=100_000)
    stuck_detection: bool = True
    stuck_detection_thresholds: StuckDetectionThresholds | None = None
    confirmation_policy: JsonObject = {"kind": "NeverConfirm"}
    security_analyzer: JsonObject | None = None
    tool_module_qualnames: dict[str, str] = {}
    client_tools: list[Any] = []
    hook_config: JsonObject | None = None
    tags: dict[str, str] = {}
    title: str | None = Field(default=None, max_length=200)
    autotitle: bool = True


class ConversationInfo(BaseModel):
    """A conversation as it stands. Keys in it are masked."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    agent: JsonObject
    workspace: LocalWorkspace
    persistence_dir: str
    max_iterations: int
    stuck_detection: bool
    execution_status: ExecutionStatus
    confirmation_policy: JsonObject
    security_analyzer: JsonObject | None = None
    activated_knowledge_skills: list[str] = []
    invoked_skills: list[str] = []
    blocked_actions: dict[str, str] = {}
    blocked_messages: dict[str, str] = {}
    last_user_message_id: str | None = None
    leaf_event_id: str | None = None
    stats: JsonObject
    secret_registry: JsonObject = {"secret_sources": {}}
    agent_state: JsonObject = {}
    hook_config: JsonObject | None = None
    title: str | None = None
    metrics: JsonObject | None = None
    tags: dict[str, str] = {}
    client_tools: list[Any] = []
    tool_module_qualnames: dict[str, str] = {}
    forked_from_conversation_id: UUID | None = None
    forked_from_event_id: str | None = None
    parent_conversation_id: UUID | None = None
    sub_conversation_ids: list[UUID] = []
    created_at: datetime
    updated_at: datetime

    @field_serializer("created_at", "updated_at")
    def _utc(self, value: datetime, _: SerializationInfo) -> str:
        return value.isoformat().replace("+00:00", "Z")


class ConversationPage(BaseModel):
    items: list[ConversationInfo]
    next_page_id: str | None = None


class UpdateConversationRequest(BaseModel):
    """Fields that are left out stay as they are; `tags` replace all earlier ones."""

    title: str | None = Field(default=None, min_length=1, max_length=200)
    tags: dict[str, str] | None = None


class AskAgentRequest(BaseModel):
    question: str = Field(min_length=1, max_length=MAX_MESSAGE_BYTES)


class AskAgentResponse(BaseModel):
    response: str


class NavigateRequest(BaseModel):
    """Where to go on from; null: from the very beginning."""

    event_id: str | None = None


class ForkRequest(BaseModel):
    """A copy of a conversation, up to `from_event_id` or as it stands. Costs start at zero, or are kept."""

    id: UUID | None = None
    title: str | None = Field(default=None, max_length=200)
    tags: dict[str, str] | None = None
    reset_metrics: bool = True
    from_event_id: str | None = None


class SkillsRequest(BaseModel):
    """Which sources of skills to look at. Those that this server does not have are not looked at."""

    load_project: bool = True
    load_user: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class SkillInfo(BaseModel):
    """type: `repo` always holds, `knowledge` comes with its triggers, `agentskills` is read on request."""

    name: str
    type: Literal["repo", "knowledge", "agentskills"]
    content: str
    triggers: list[str] = []
    source: str | None = None
    description: str | None = None
    is_agentskills_format: bool = False
    disable_model_invocation: bool = False


class SkillFinding(BaseModel):
    """A place that was looked at, and why it was loaded or not."""

    path: str
    name: str | None = None
    is_loaded: bool
    reason: str


class SkillsResponse(BaseModel):
    skills: list[SkillInfo]
    sources: dict[str, int] = {}
    report: list[SkillFinding] = []


class FinalResponse(BaseModel):
    """The last thing the agent told the user; empty if it has not spoken."""

    response: str


class ExecuteBashRequest(BaseModel):
    command: str
    cwd: str | None = None
    timeout: int = Field(default=300, gt=0, description="Seconds the command may run.")


class BashEvent(BaseModel):
    id: str = Field(default_factory=lambda: uuid4().hex)
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))


class BashCommand(ExecuteBashRequest, BashEvent):
    """A command that was started."""

    kind: Literal["BashCommand"] = "BashCommand"


class BashOutput(BashEvent):
    """A piece of output; `order` counts 0, 1, 2 … The last one of a command has its `exit_code`."""

    command_id: str
    order: int = 0
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    kind: Literal["BashOutput"] = "BashOutput"
