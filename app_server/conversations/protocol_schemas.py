"""Schemas for parts of a conversation, with the field names of the protocol that Slipway's clients use
(OpenHands').
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Amount = int | float


class TokenUsage(BaseModel):
    """The numbers of tokens that all model calls of a conversation have used together. `per_turn_token` (the
    tokens of prompt and reply) and `response_id` are those of the last model call only.
    """

    model: str = ""
    prompt_tokens: Amount = 0
    completion_tokens: Amount = 0
    cache_read_tokens: Amount = 0
    cache_write_tokens: Amount = 0
    reasoning_tokens: Amount = 0
    context_window: Amount = 0
    per_turn_token: Amount = 0
    response_id: str = ""


class MetricsSnapshot(BaseModel):
    """The total cost of a conversation so far, in dollars and tokens."""

    model_name: str = "default"
    accumulated_cost: Amount = 0
    max_budget_per_task: Amount | None = None
    accumulated_token_usage: TokenUsage | None = None


class LaunchedAgentProfile(BaseModel):
    agent_profile_id: UUID
    revision: int


class SetTitleProcessor(BaseModel):
    """An element of the list `processors` in a start request that asks for a title made from the first
    message. The element is accepted for clients of the OpenHands protocol, but changes nothing: every
    conversation without a `title` gets such a title.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["SetTitleCallbackProcessor"]


class LoggingProcessor(BaseModel):
    """An element of the list `processors` in a start request that asks for a callback, that is, an action of
    the server after each event. This callback writes each event of the conversation to the app server's log.
    `GET /api/v1/callbacks` lists the callback and the events after which it has run.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["LoggingCallbackProcessor"]


EventProcessor = Annotated[SetTitleProcessor | LoggingProcessor, Field(discriminator="kind")]


MAX_PARAMETERS = 50
ParameterName = Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,100}$")]


class PluginSpec(BaseModel):
    """A plugin that a new conversation uses. `source`: a public repository, as `github:OWNER/REPO` (a path
    may follow) or as a URL.

    `ref`: branch, tag or commit; null means the default branch. `repo_path`: the path of the plugin in the
    repository; null means the root. `parameters`: named values that are added to the end of the first
    message, so that the agent reads them.
    """

    model_config = ConfigDict(extra="forbid")

    source: Annotated[
        str, StringConstraints(pattern=r"^(github:[\w.-]+/[\w.-]+(/.+)?|https?://[^@\s]+)$", max_length=2000)
    ]
    ref: Annotated[str, StringConstraints(pattern=r"^[^-\s]\S*$", max_length=256)] | None = None
    repo_path: Annotated[str, Field(max_length=1000)] | None = None
    parameters: Annotated[dict[ParameterName, Any], Field(max_length=MAX_PARAMETERS)] | None = None
