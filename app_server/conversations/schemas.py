"""Schemas of the requests and replies of the conversation routes. The field names are those of the OpenHands
protocol, which Slipway's clients use (see docs/protocol.md §5).
"""

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from agent_runtime.events.content import TextContent
from agent_runtime.wire import Dollars, ExecutableHash, GoalRounds
from app_server.conversations.log.prompt_cache import PromptCache
from app_server.conversations.message_schemas import SendMessageRequest
from app_server.conversations.models import StartStatus
from app_server.conversations.protocol_schemas import (
    EventProcessor,
    LaunchedAgentProfile,
    MetricsSnapshot,
    PluginSpec,
)
from app_server.conversations.repositories.more_repositories import (
    MAX_MORE,
    AnotherRepository,
    KeptRepository,
)
from app_server.conversations.sharing.access import Access
from app_server.conversations.start.suggested_task import SuggestedTask
from app_server.core.database import Id, Timestamp
from app_server.git.providers import GitProvider
from app_server.http.strict_body import StrictBody
from app_server.llm_gateway.limits.program_usage import ProgramUsage
from app_server.sandbox_records.models import SandboxStatus
from app_server.secrets.schemas import SecretName, SecretValue
from app_server.settings.cloning import CloneMode
from app_server.settings.confirmation import ConfirmationMode

MAX_SECRETS = 50
MAX_PLUGINS = 20
MAX_TAGS = 20
MAX_PROCESSORS = 10


def _has_no_null(text: str) -> str:
    # PostgreSQL cannot compare texts with a null character, and no stored text contains one.
    if "\x00" in text:
        raise ValueError("must not contain a null character")
    return text


PlainText = Annotated[str, AfterValidator(_has_no_null)]
"""A text from a query string, without null characters. http/text_validation.py checks request bodies."""

TagKey = Annotated[str, Field(pattern=r"^[a-z0-9]{1,50}$")]
Tags = Annotated[dict[TagKey, Annotated[str, Field(max_length=256)]], Field(max_length=MAX_TAGS)]
"""The tags of a conversation, by key. A key consists of small letters and digits. A value is a text and may
be empty.
"""

TagFilter = Annotated[str, Field(pattern=r"^[a-z0-9]{1,50}(:.{0,256})?$"), AfterValidator(_has_no_null)]
"""The key of a tag, or `key:value`."""


class StartGoal(StrictBody):
    """The part of a start request that makes the first message a goal: the agent works until a judge (a
    model) finds the goal reached. max_iterations: how many times the judge may tell the agent to continue.
    """

    max_iterations: GoalRounds = 10


_NOT_SUPPORTED: Mapping[str, str] = {
    "agent_profile_id": "choose a model with llm_profile",
    "agent_type": "it is fixed when a conversation starts",
    "git_provider": "the host is found from the repository's address",
    "parent_conversation_id": "it is fixed when a conversation starts",
    "plugins": "they are fixed when a conversation starts",
    "pr_number": "it is fixed when a conversation starts",
    "processors": "they are fixed when a conversation starts",
    "public": "share it: PATCH the conversation",
    "secrets": "store them with POST /api/v1/secrets",
    "selected_branch": "it is fixed when a conversation starts",
    "selected_repository": "it is fixed when a conversation starts",
    "suggested_task": "say it in initial_message",
}
"""Fields of the OpenHands protocol that Slipway does not support, each with what to use instead."""

_MEANS_NOTHING: tuple[object, ...] = (None, False, "", [], {}, "default")


class _Strict(StrictBody):
    """A body that refuses the protocol's fields without effect here, unless their values ask for nothing."""

    model_config = ConfigDict(str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_not_supported(cls, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        fields = {name for name, field in cls.model_fields.items() if field.annotation is not NoneType}
        absent = _NOT_SUPPORTED.keys() - fields
        for name in sorted(body.keys() & absent):
            if body[name] not in _MEANS_NOTHING:
                raise ValueError(f"{name} is not supported: {_NOT_SUPPORTED[name]}")
        return {name: value for name, value in body.items() if name not in absent}


class StartRequest(_Strict):
    """The request body for starting a conversation.

    `ask_when_stuck`: whether a person can answer questions. If true, MCP servers may ask the user, and an
    agent that repeats itself asks the user. If false, such an agent is stopped. `max_budget_per_task`: the
    maximum cost in dollars; if left out, the maximum in the model profile (the saved model with its options).
    """

    conversation_id: Id | None = None
    initial_message: SendMessageRequest | None = None
    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    selected_directory: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The folder in which the agent works, relative to the root of the first repository. Null: the root of
    this repository.
    """
    clone: CloneMode | None = None
    """How much of the repositories' history is fetched; null: the user's setting."""
    submodules: bool | None = None
    """Whether submodules on the host of their repository are fetched. Null: the user's setting. Submodules on
    other hosts are never fetched.
    """
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    more_repositories: Annotated[list[AnotherRepository], Field(max_length=MAX_MORE)] = []
    llm_profile: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    llm_model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """A model name. Selects the saved profile with this model if `llm_profile` is not given."""
    system_message_suffix: Annotated[str, Field(max_length=20_000)] | None = None
    """A text that is added to the end of the agent's system prompt."""
    confirmation_mode: ConfirmationMode | None = None
    """When the agent asks before it acts; null: the user's setting."""
    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    trigger: Annotated[str, Field(max_length=50)] | None = None
    consent: list[ExecutableHash] = Field(default=[], max_length=200)
    """Hashes of the repository's executables (hooks, scripts, MCP servers) that the user allows. These
    decisions are stored for later conversations, too.
    """
    ask_when_stuck: bool = True
    max_budget_per_task: Dollars | None = None
    goal: StartGoal | None = None
    parent_conversation_id: Id | None = None
    """The id of a parent conversation, whose sandbox, repository and model are used unless the request names
    others. The new conversation is deleted with its parent.
    """
    pr_number: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=100)] | None = None
    """The numbers of the pull requests that the conversation is about. They are only stored and shown."""
    secrets: Annotated[dict[SecretName, SecretValue], Field(max_length=MAX_SECRETS)] | None = None
    """Secret values only for this conversation, by the names of environment variables. They take precedence
    over the user's saved secrets. They are stored encrypted and returned as asterisks.
    """
    plugins: Annotated[list[PluginSpec], Field(max_length=MAX_PLUGINS)] | None = None
    """The plugins to use. A plugin that is named here is thereby allowed: the user is not asked about it."""
    suggested_task: SuggestedTask | None = None
    """A task that a git host suggests, such as an open issue. It sets the first message and the repository.
    """
    sandbox_spec_id: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """The sandbox spec (base image). Null with a snapshot: the image of the snapshot. Null without a
    snapshot: the user's setting for the repository, else for all repositories, else the spec `default`.
    """
    sandbox_id: Id | None = None
    """The user's sandbox in which the conversation works. If left out, the user's grouping strategy (which
    conversations share a sandbox) selects or creates a sandbox.
    """
    snapshot_id: Id | None = None
    """The id of a snapshot. The new conversation gets the files of the snapshot, and the repository of the
    conversation from which the snapshot was taken.
    """
    agent_type: Literal["default", "plan"] = "default"
    """`default`: an agent with all tools. `plan`: an agent that reads the project and writes only `PLAN.md`
    in the project's directory. A `plan` agent has no commands, no sub-agents and no MCP servers.
    """
    public: bool | None = None
    """True: all signed-in users of the organisation may view the conversation."""
    processors: Annotated[list[EventProcessor], Field(max_length=MAX_PROCESSORS)] | None = None
    agent_profile_id: None = None
    """Always null, because Slipway has no agent profiles. Choose a model with `llm_profile`."""

    @model_validator(mode="after")
    def _has_an_objective(self) -> Self:
        if self.goal is None:
            return self
        content = self.initial_message.content if self.initial_message else []
        if not self.objective or not all(isinstance(part, TextContent) for part in content):
            raise ValueError("a goal needs an initial message of text alone: that is its objective")
        return self

    @property
    def objective(self) -> str:
        """Returns the text of the request's first message, which is the objective of a goal."""
        content = self.initial_message.content if self.initial_message else []
        return "\n".join(part.text for part in content if isinstance(part, TextContent)).strip()


class RetryStart(_Strict):
    """The request body for retrying a failed start, with changes. A field that is left out changes nothing.

    selected_repository: null also changes nothing. selected_branch: null selects the default branch.
    selected_directory: null selects the root of the repository.
    """

    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    selected_directory: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class StartStage(BaseModel):
    """The progress of one stage of a conversation's start. `status`: the name of the stage. `state`: whether
    the stage has begun or ended. `output`: the end of the text that the stage's command has printed.
    """

    status: StartStatus
    state: Literal["pending", "running", "done", "skipped", "failed"] = "pending"
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    detail: str | None = None
    output: str | None = None


class StartError(BaseModel):
    code: str
    stage: StartStatus
    cause: str
    fix: str | None = None
    output: str | None = None


class StartTaskInfo(BaseModel):
    model_config = ConfigDict(title="StartTask")

    id: Id
    created_by_user_id: Id
    status: StartStatus
    detail: str | None
    app_conversation_id: Id
    sandbox_id: Id | None
    agent_server_url: str | None
    """The address of the agent server through the gateway. Requests to it need the `session_api_key` of the
    conversation. Null before the start is READY, and in the frames (messages) of a stream.
    """
    request: StartRequest
    created_at: Timestamp
    updated_at: Timestamp
    stages: list[StartStage]
    error: StartError | None


class ConversationGoal(BaseModel):
    """The progress of a conversation's goal. objective: the beginning of the goal's text. status: `capped`
    means that the judge has checked `max_iterations` times and the goal is not reached. iteration: how many
    times a judge (a model) has checked the agent's work.
    """

    objective: str
    status: Literal["running", "complete", "capped", "interrupted"]
    iteration: int
    max_iterations: int


class SandboxError(BaseModel):
    """The reason why a sandbox has the status ERROR. `output`: the end of what the sandbox has printed."""

    code: str
    cause: str
    fix: str
    output: str


class AppConversation(BaseModel):
    id: Id
    created_by_user_id: Id
    sandbox_id: Id | None
    selected_repository: str | None
    selected_branch: str | None
    selected_directory: str | None
    git_provider: str | None
    more_repositories: list[KeptRepository] = []
    title: str | None
    trigger: str | None
    pr_number: list[int] = []
    llm_model: str | None
    llm_profile: str
    agent_kind: str = "openhands"
    metrics: MetricsSnapshot | None
    prompt_cache: PromptCache | None = None
    program_usage: ProgramUsage | None = None
    """The model calls of programs in the sandbox with the conversation's model key. Their costs are not part
    of `metrics`, but count for the budget. Null if no program has called the model.
    """
    goal: ConversationGoal | None = None
    parent_conversation_id: Id | None = None
    sub_conversation_ids: list[Id] = []
    forked_from_conversation_id: Id | None = None
    """The id of the conversation that this one is a copy of. Null if it is not a copy."""
    public: bool | None = None
    """Whether all signed-in users of the organisation may view the conversation."""
    acp_server: None = None
    launched_agent_profile: LaunchedAgentProfile | None = None
    """Always null, because Slipway has no agent profiles."""
    tags: dict[str, str] = {}
    archived: bool = False
    """Whether the owner has archived the conversation. This does not change the sandbox."""
    created_at: Timestamp
    updated_at: Timestamp
    sandbox_status: SandboxStatus
    sandbox_error: SandboxError | None = None
    execution_status: str | None
    """What the agent does now, such as `running` or `paused`. Null if the sandbox does not run."""
    conversation_url: str | None
    """The address of the conversation at its agent server, through the gateway. Only the owner gets the
    address, and only while the sandbox runs. Null for other people, for a user or an API key that may not
    work in the sandbox, and in the frames (messages) of a stream.
    """
    session_api_key: str | None = None
    """The key for `conversation_url`, in the header `X-Session-API-Key`. Null if `conversation_url` is null.
    The key gives access to this conversation, and to files and commands of its sandbox.

    The key expires after 11 to 12 hours. It ends earlier if the conversation or sandbox is deleted, or if the
    user signs out or deletes the API key of this request. It is not the key of the sandbox.
    """
    needs_you: Literal["approval", "answer"] | None = None
    """What the agent waits for: the approval of an action, or the answer to a question of an MCP server. Null
    if the agent does not wait for the user, or if its sandbox does not run.
    """
    start_status: StartStatus
    last_seq: int
    owner_name: str = ""
    """The name of the person who owns the conversation."""
    is_shared: bool = False
    """Whether people other than the owner have access."""
    access: Access | None = None
    """The access of the current user to the conversation. Null in the frames (messages) of a stream."""


class UpdateConversation(_Strict):
    """The request body for changing a conversation. A field that is left out stays unchanged. The fields
    title, public, tags and archived also stay unchanged if they are null.
    """

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    public: bool | None = None
    """True: every user of the organisation may view the conversation. False: only the people and teams with
    which it is shared individually may view it.
    """
    tags: Tags | None = None
    """The new tags of the conversation. They replace all earlier tags."""
    archived: bool | None = None
    """True archives the conversation. False unarchives it. A new message also unarchives it."""
    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    """The new repository that git may reach. No files change. Null: no repository. Left out: no change."""
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """The branch into which pull requests are merged. Null: the default branch. Left out: no change."""
    git_provider: GitProvider | None = None
    """The git host of a repository given as `owner/repo`. Null: GitHub. Left out: no change."""


class TagCount(BaseModel):
    """A tag of conversations. count: how many conversations that the user may see have this tag."""

    key: str
    value: str
    count: int


class ConversationOwner(BaseModel):
    id: Id
    name: str


class FilterChoices(BaseModel):
    """The values that the user can choose in the search filters, taken from the conversations that the user
    may see. Each list is sorted by name. `owners`: other people whose conversations the user may see.
    """

    llm_models: list[str]
    selected_branches: list[str]
    owners: list[ConversationOwner]


class Success(BaseModel):
    success: bool = True


def _without_prefix(given: object) -> object:
    return given.removeprefix("task-") if isinstance(given, str) else given


ConversationOrTask = Annotated[UUID, BeforeValidator(_without_prefix)]
"""A conversation's id, with or without the prefix `task-`. The conversation's start task has the same id."""

Ids = Annotated[list[UUID], Field(max_length=100)]
