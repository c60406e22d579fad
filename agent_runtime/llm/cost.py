"""What the calls of a conversation have used, per `usage_id`, in the protocol's shape."""

from typing import Any

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import Reply

BUDGET_REACHED = "MaxBudgetReached"
"""The code of the ConversationErrorEvent that ends a run when `max_budget_per_task` is spent."""

NO_STATS: dict[str, Any] = {"usage_to_metrics": {}}

_SUMMED = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def add_usage(stats: dict[str, Any], llm: LLM, reply: Reply) -> dict[str, Any]:
    """New stats in which one more call is counted. llm: whose budget it is; the reply knows who answered."""
    answered_by, usage = reply.answered_by or llm, reply.usage
    metrics = stats["usage_to_metrics"]
    before = metrics.get(answered_by.usage_id, {})
    counted_before = before.get("accumulated_token_usage", {})
    counted = {name: counted_before.get(name, 0) + getattr(usage, name) for name in _SUMMED}
    after = {
        "model_name": answered_by.model,
        "accumulated_cost": before.get("accumulated_cost", 0.0) + (usage.cost or 0.0),
        "max_budget_per_task": llm.max_budget_per_task,
        "accumulated_token_usage": {
            "model": answered_by.model,
            **counted,
            "context_window": reply.context_window or 0,
            "per_turn_token": usage.prompt_tokens + usage.completion_tokens,
            "response_id": reply.id,
        },
    }
    return {"usage_to_metrics": {**metrics, answered_by.usage_id: after}}


def total_cost(stats: dict[str, Any]) -> float:
    """Dollars of all calls, whoever made them."""
    return float(sum(metrics["accumulated_cost"] for metrics in stats["usage_to_metrics"].values()))
