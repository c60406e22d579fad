"""Schemas of parts of a conversation that have the shape of the OpenHands protocol."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Amount = int | float


class TokenUsage(BaseModel):
    """The tokens of all model calls of a conversation together. `per_turn_token` and `response_id` belong to
    the last call only.
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
    """The cost of a conversation in a reply: what its model calls have cost so far, in dollars and tokens."""

    model_name: str = "default"
    accumulated_cost: Amount = 0
    max_budget_per_task: Amount | None = None
    accumulated_token_usage: TokenUsage | None = None


class LaunchedAgentProfile(BaseModel):
    agent_profile_id: UUID
    revision: int


class SetTitleProcessor(BaseModel):
    """An event processor of a start request that makes a title from the first message. It has no effect,
    because a conversation without a `title` always gets such a title.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["SetTitleCallbackProcessor"]


class LoggingProcessor(BaseModel):
    """An event processor of a start request that writes each event of the conversation to the server's log.
    It is stored as a callback: `GET /api/v1/callbacks` lists the callback with its deliveries.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["LoggingCallbackProcessor"]


EventProcessor = Annotated[SetTitleProcessor | LoggingProcessor, Field(discriminator="kind")]


MAX_PARAMETERS = 50
ParameterName = Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,100}$")]


class PluginSpec(BaseModel):
    """A plugin of a start request, from a public repository. `source`: `github:OWNER/REPO` (a path may
    follow), or the URL of a repository.

    `ref`: branch, tag or commit. `repo_path`: the plugin's path in the repository. `parameters`: values for
    the agent, which are added at the end of the first message.
    """

    model_config = ConfigDict(extra="forbid")

    source: Annotated[
        str, StringConstraints(pattern=r"^(github:[\w.-]+/[\w.-]+(/.+)?|https?://[^@\s]+)$", max_length=2000)
    ]
    ref: Annotated[str, StringConstraints(pattern=r"^[^-\s]\S*$", max_length=256)] | None = None
    repo_path: Annotated[str, Field(max_length=1000)] | None = None
    parameters: Annotated[dict[ParameterName, Any], Field(max_length=MAX_PARAMETERS)] | None = None
