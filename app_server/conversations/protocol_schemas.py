"""Parts of a conversation in the protocol's own shape."""

from uuid import UUID

from pydantic import BaseModel

Amount = int | float


class TokenUsage(BaseModel):
    """Of all calls together; `per_turn_token` and `response_id` are those of the last."""

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
    """What a conversation has cost, in dollars and tokens."""

    model_name: str = "default"
    accumulated_cost: Amount = 0
    max_budget_per_task: Amount | None = None
    accumulated_token_usage: TokenUsage | None = None


class LaunchedAgentProfile(BaseModel):
    agent_profile_id: UUID
    revision: int
