"""The models of requests that change, continue or copy an existing conversation."""

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
from agent_runtime.wire.conversations import MAX_MESSAGE_BYTES, Dollars, Tags

MAX_ANSWER_CHARS = 100_000
MediumText = Annotated[str, StringConstraints(max_length=20_000)]


class UpdateConversationRequest(BaseModel):
    """The request body of PATCH /api/conversations/{id}. Fields that the request does not contain stay
    unchanged. The given `tags` replace all tags that the conversation has.

    `max_budget_per_task`: the limit of the conversation's total cost in dollars; null means no limit.
    """

    title: str | None = Field(default=None, min_length=1, max_length=200)
    tags: Tags | None = None
    max_budget_per_task: Dollars | None = None


class UpdateSecretsRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/secrets: secrets by name. Each secret is either a
    plain text, or an object `{kind: StaticSecret, value}`, or an object `{kind: LookupSecret, url, headers}`
    with the address where the value is looked up.
    """

    secrets: dict[str, Any]


class ConfirmationResponseRequest(BaseModel):
    """The user's decision about the agent's actions that wait for approval.

    `remember`: whether later actions of the same kinds need no approval. `action_ids`: the ids of the actions
    that the user was shown; the request is refused if different actions wait now. `run`: if true, the agent
    continues at once after a rejection and gets the reason. `approved_action_ids`: in a rejection, the ids of
    actions that run anyway; all other actions are rejected. An older server that does not know this field
    rejects all actions.
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
    """The result of a call of a client tool (a tool that the client runs). `action_id`: the id of the event
    with the call.
    """

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
    """The user's decision whether the agent may call an MCP tool whose definition has changed.

    `fingerprint`: identifies the change that the user was shown.
    """

    server: str = Field(min_length=1, max_length=200)
    tool: str = Field(min_length=1, max_length=200)
    fingerprint: str = Field(min_length=1, max_length=200)
    accept: bool


class McpQuestionAnswer(BaseModel):
    """The user's answer to a question that an MCP server asks. `question_id`: the question's `id` in the list
    `mcp_questions` of the conversation's state.

    `content`: the values of an accepted form by field name. Missing fields get the defaults of the form. Null
    means that the answer contains no values.
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
    """The request body that sets the security analyzer of a conversation, which rates the risk of actions. If
    the value is null, there is no analyzer, so only the built-in rules for commands and files apply.
    """

    security_analyzer: JsonObject | None


class AskAgentRequest(BaseModel):
    question: str = Field(min_length=1, max_length=MAX_MESSAGE_BYTES)


class AskAgentResponse(BaseModel):
    response: str


GoalRounds = Annotated[int, Field(ge=1, le=1000)]


class StartGoalRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/goal, which gives the agent a goal. `objective`: the
    goal as text. `max_iterations`: how many times a judge (a model) checks whether the goal is reached. After
    the last check, the work on the goal ends, even if the goal is not reached.
    """

    objective: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE_BYTES)
    ]
    max_iterations: GoalRounds = 10


class SwitchLLMRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/switch_llm: the new model of the agent.

    `condenser_llm`: the new model of the condenser, which summarizes older events. If it is null, a condenser
    that used the agent's old model changes to the agent's new model, and any other condenser keeps its model.
    """

    llm: JsonObject
    condenser_llm: JsonObject | None = None


class StartChildConversationRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/children: a task for a child conversation.
    `isolation`: `worktree` asks for a separate git work tree for the child; `shared` means the directory of
    the parent conversation.
    """

    task: Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_BYTES)]
    title: str | None = Field(default=None, max_length=200)
    isolation: Literal["worktree", "shared"] = "worktree"


class StartChildConversationResponse(BaseModel):
    """The reply of POST /api/conversations/{id}/children: the new child conversation. `isolation`: `worktree`
    if the child has a separate git work tree; `shared` if it shares the directory of its parent.
    """

    conversation_id: UUID
    parent_conversation_id: UUID
    status: str
    title: str | None = None
    url: str | None = None
    workspace: str | None = None
    isolation: Literal["worktree", "shared"] | None = None


class ChildNotStartedError(Exception):
    """The error that is raised when a child conversation cannot be started. The text states the reason."""


class NavigateRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/navigate, which resets the conversation to an earlier
    event. The conversation continues after this event; the later events stay in the log. `event_id`: null
    means the beginning of the conversation.
    """

    event_id: str | None = None


class ForkRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/fork, which copies a conversation up to the event
    `from_event_id`. Without `from_event_id`, all events are copied.

    `reset_metrics`: true means that the costs of the copy start at zero; false copies the costs so far.
    """

    id: UUID | None = None
    title: str | None = Field(default=None, max_length=200)
    tags: Tags | None = None
    reset_metrics: bool = True
    from_event_id: str | None = None
