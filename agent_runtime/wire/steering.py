"""What is asked of a conversation that is under way."""

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    BaseModel,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.wire.conversations import MAX_MESSAGE_BYTES, Dollars

MAX_ANSWER_CHARS = 100_000
MediumText = Annotated[str, StringConstraints(max_length=20_000)]


class UpdateConversationRequest(BaseModel):
    """Fields that are left out stay as they are; `tags` replace all earlier ones.

    max_budget_per_task: what the conversation may cost in all, in dollars; null: any amount.
    """

    title: str | None = Field(default=None, min_length=1, max_length=200)
    tags: dict[str, str] | None = None
    max_budget_per_task: Dollars | None = None


class UpdateSecretsRequest(BaseModel):
    """By name: a value, `{kind: StaticSecret, value}` or `{kind: LookupSecret, url, headers}`."""

    secrets: dict[str, Any]


class ConfirmationResponseRequest(BaseModel):
    """The answer to the actions that wait.

    remember: do not ask about actions of these kinds again. action_ids: those that the answer is meant for;
    it is refused when others wait. run: a rejected agent goes on at once, with the reason.
    approved_action_ids: of a rejection, the actions that run all the same; all others are rejected. A server
    that does not know it rejects all.
    """

    accept: bool
    reason: str = Field(default="User rejected the action.", max_length=10_000)
    remember: bool = False
    action_ids: list[str] | None = Field(default=None, max_length=1000)
    approved_action_ids: list[str] | None = Field(default=None, min_length=1, max_length=1000)
    run: bool = False

    @model_validator(mode="after")
    def _is_one_answer(self) -> Self:
        if self.accept and self.approved_action_ids is not None:
            raise ValueError("`approved_action_ids` belongs to an answer with `accept: false`")
        return self


class ClientToolAnswer(BaseModel):
    """What came of a call of a client's own tool. action_id: of the call's event."""

    action_id: str = Field(min_length=1, max_length=200)
    content: list[Content] = Field(min_length=1, max_length=100)
    is_error: bool = False

    @field_validator("content")
    @classmethod
    def _fits_a_model(cls, content: list[Content]) -> list[Content]:
        if sum(len(part.text) for part in content if isinstance(part, TextContent)) > MAX_ANSWER_CHARS:
            raise ValueError(f"must have at most {MAX_ANSWER_CHARS} characters of text")
        return content


class McpChangeAnswer(BaseModel):
    """Whether a tool of an MCP server may be called as it is offered now. fingerprint: of the change."""

    server: str = Field(min_length=1, max_length=200)
    tool: str = Field(min_length=1, max_length=200)
    fingerprint: str = Field(min_length=1, max_length=200)
    accept: bool


class McpQuestionAnswer(BaseModel):
    """What the user answers to a question of an MCP server. question_id: its `id` in `mcp_questions`.

    content: of a form that is accepted, by the names of its fields. Those that are left out get the defaults
    that the form names.
    """

    question_id: str = Field(min_length=1, max_length=200)
    action: Literal["accept", "decline", "cancel"]
    content: (
        dict[
            Annotated[str, StringConstraints(max_length=200)],
            bool | int | float | MediumText | Annotated[list[MediumText], Field(max_length=200)],
        ]
        | None
    ) = Field(default=None, max_length=100)


class SetConfirmationPolicyRequest(BaseModel):
    policy: JsonObject


class SetSecurityAnalyzerRequest(BaseModel):
    """null: none but the rules for commands and files."""

    security_analyzer: JsonObject | None


class AskAgentRequest(BaseModel):
    question: str = Field(min_length=1, max_length=MAX_MESSAGE_BYTES)


class AskAgentResponse(BaseModel):
    response: str


GoalRounds = Annotated[int, Field(ge=1, le=1000)]


class StartGoalRequest(BaseModel):
    """What the agent is to reach, and how often its work is audited before it gives up."""

    objective: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE_BYTES)
    ]
    max_iterations: GoalRounds = 10


class SwitchLLMRequest(BaseModel):
    """The model that takes over. condenser_llm: the condenser's, which goes along if it used the same."""

    llm: JsonObject
    condenser_llm: JsonObject | None = None


class StartChildConversationRequest(BaseModel):
    """A task for another conversation. isolation: whether it gets a separate git work tree."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_BYTES)]
    title: str | None = Field(default=None, max_length=200)
    isolation: Literal["worktree", "shared"] = "worktree"


class StartChildConversationResponse(BaseModel):
    """isolation: what the child has got, which is `shared` where there is no repository."""

    conversation_id: UUID
    parent_conversation_id: UUID
    status: str
    title: str | None = None
    url: str | None = None
    workspace: str | None = None
    isolation: Literal["worktree", "shared"] | None = None


class ChildNotStartedError(Exception):
    """A child conversation cannot be started. The text says why."""


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
