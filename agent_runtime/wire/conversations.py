"""The models of conversations: the request body that starts a conversation, messages to the agent, and the
description of a conversation.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.message import Message
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.wire.plugins import PluginSource
from agent_runtime.wire.project_executables import ExecutableHash, ProjectConsent

MAX_MESSAGE_BYTES = 1024 * 1024


_GIT_NAME = "[A-Za-z0-9][A-Za-z0-9._/-]*"
# JSON can contain lone surrogates, UTF-8 cannot.
_SURROGATE = re.compile("[\ud800-\udfff]")


TagKey = Annotated[str, Field(pattern="^[a-z0-9]+$")]
Tags = dict[TagKey, Annotated[str, Field(max_length=256)]]
"""The tags that a client gives to a conversation. StartConversationRequest does not use this type, because it
also reads conversations on disk, which may have other tags. The server checks the tags of a new conversation.
"""


class WorkingDirectory(BaseModel):
    """The workspace of the agent: a directory on the machine that runs the agent server."""

    model_config = ConfigDict(frozen=True, extra="allow")

    working_dir: str = Field(min_length=1, max_length=4096)
    kind: Literal["LocalWorkspace"] = "LocalWorkspace"


class SendMessageRequest(BaseModel):
    """A message for the agent. If the conversation already has a message with this `id`, the request succeeds
    and changes nothing, so a client may repeat the request.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str | None = Field(default=None, min_length=1, max_length=128, pattern=r"^[!-~]+$")
    role: Literal["user", "system", "assistant", "tool"] = "user"
    content: list[Content] = []
    run: bool = False
    sender: str | None = Field(default=None, max_length=200)
    """The name of the person who wrote the message. Null means the owner of the conversation."""

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
        """The size of this message's text, in bytes of UTF-8."""
        return sum(len(part.text.encode()) for part in self.content if isinstance(part, TextContent))

    def to_message(self) -> Message:
        return Message(role=self.role, content=self.content)


class StuckDetectionThresholds(BaseModel):
    """The limits that say how often the agent may repeat a pattern of calls or messages before the runtime
    decides that the agent is stuck.

    The runtime first tells a stuck agent that it repeats itself. If the agent continues to repeat itself and
    the conversation has `ask_when_stuck`, the agent must ask the user. Without `ask_when_stuck`, the agent is
    stopped.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    action_observation: int = Field(default=4, ge=2, le=50, description="The same call with the same result")
    action_error: int = Field(default=3, ge=2, le=50, description="The same call, failing")
    monologue: int = Field(default=3, ge=2, le=50, description="Messages of the agent in a row")
    alternating_pattern: int = Field(default=6, ge=4, le=50, description="Calls in the pattern A, B, A, B …")


class WorktreeOptions(BaseModel):
    """The options of a conversation's git work tree. `base`: the commit from which the branch of the work
    tree starts; `default_branch` means the last commit of the default branch, `head` the current commit,
    `ref` the commit that the field `ref` names. `branch_prefix`: the beginning of the branch's name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: Literal["default_branch", "head", "ref"] = "default_branch"
    ref: str | None = Field(
        default=None,
        pattern=_GIT_NAME,
        max_length=250,
        description="A branch, tag or commit, for the base `ref`",
    )
    branch_prefix: str = Field(default="openhands/", pattern=f"^({_GIT_NAME})?$", max_length=200)

    @model_validator(mode="after")
    def _ref_belongs_to_its_base(self) -> "WorktreeOptions":
        if (self.base == "ref") != (self.ref is not None):
            raise ValueError("`ref` is given with the base `ref`, and only then")
        return self


class StartConversationRequest(BaseModel):
    """The request body of POST /api/conversations, which creates a conversation. `agent`: the configuration
    of the agent as JSON.

    `ask_when_stuck`: whether a user is present who can answer questions. If true, an agent that repeats
    itself asks the user before it is stopped, and an MCP server may ask the user during a call.
    `expects_finish`: whether the agent completes a task without a user. If true, a reply without a tool call,
    such as "Now I will run the tests.", does not end the agent's work: the runtime tells the agent once to
    continue or to call `finish`.

    `consent`: the hashes of those executables of the project (hooks, MCP servers and plugins) that the user
    allows to run. `further_consent`: the same for additional repositories, which the field `further_projects`
    of the agent's configuration lists. Hooks and commands of a project run in that project's directory. A
    project's MCP server is left out if the agent has another MCP server with the same name.

    `mcp_approved`: definitions of MCP tools that the user has approved in earlier conversations, by server
    and tool name. The agent may call these tools without a new approval while their definitions stay the
    same. The state of each conversation contains them in this form, as `agent_state.mcp_approved`.

    `secrets_encrypted`: whether keys in `agent` and values in `secrets` are encrypted, as replies with the
    header `X-Expose-Secrets: encrypted` contain them. The server then decrypts them. Values that are not
    encrypted stay unchanged.

    `autotitle`: whether a title is made if there is no `title`. `title_llm_profile`: the name of the user's
    model profile whose model makes the title from the first message; null means the agent's model. If the
    model gives no title, the title is the first words of the message. `runtime_plugins`: the names of runtime
    plugins that must run beside the agent. GET /api/runtime-plugins lists them. `worktree`: if true and the
    workspace lies in a git repository, the agent works in a git work tree that is made for this conversation.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    agent: JsonObject
    workspace: WorkingDirectory
    worktree: bool = False
    worktree_options: WorktreeOptions | None = None
    conversation_id: UUID | None = None
    parent_conversation_id: UUID | None = None
    initial_message: SendMessageRequest | None = None
    max_iterations: int = Field(default=500, ge=1, le=100_000)
    stuck_detection: bool = True
    stuck_detection_thresholds: StuckDetectionThresholds | None = None
    ask_when_stuck: bool = False
    expects_finish: bool = False
    confirmation_policy: JsonObject = {"kind": "NeverConfirm"}
    security_analyzer: JsonObject | None = None
    secrets: dict[str, Any] = {}
    secrets_encrypted: bool = False
    tool_module_qualnames: dict[str, str] = {}
    client_tools: list[Any] = []
    mcp_approved: dict[str, JsonObject] = {}
    plugins: list[PluginSource] | None = Field(default=None, max_length=50)
    runtime_plugins: list[str] = Field(default=[], max_length=20)
    hook_config: JsonObject | None = None
    consent: list[ExecutableHash] = Field(default=[], max_length=200)
    further_consent: list[ProjectConsent] = Field(default=[], max_length=50)
    tags: dict[str, str] = Field(
        default={}, description="Keys of a-z and 0-9; values of at most 256 characters"
    )
    title: str | None = Field(default=None, max_length=200)
    autotitle: bool = True
    title_llm_profile: str | None = Field(default=None, max_length=256)

    @model_validator(mode="after")
    def _options_are_for_a_worktree(self) -> "StartConversationRequest":
        if self.worktree_options is not None and not self.worktree:
            raise ValueError("`worktree_options` needs `worktree`")
        return self


class ConversationInfo(BaseModel):
    """The description of a conversation in replies: its settings and its current state. API keys and secrets
    are masked.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    agent: JsonObject
    workspace: WorkingDirectory
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
    current_model_id: str | None = None
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


Dollars = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]


class FinalResponse(BaseModel):
    """The reply of GET /api/conversations/{id}/agent_final_response: the agent's last message to the user.
    The text is empty if there is no such message.
    """

    response: str
