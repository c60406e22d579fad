"""What the calls of a conversation have used, per `usage_id`, in the protocol's shape."""

from typing import Any

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import Usage

NO_STATS: dict[str, Any] = {"usage_to_metrics": {}}

_SUMMED = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def add_usage(stats: dict[str, Any], llm: LLM, usage: Usage) -> dict[str, Any]:
    """New stats in which one more call is counted."""
    metrics = stats["usage_to_metrics"]
    before = metrics.get(llm.usage_id, {})
    counted_before = before.get("accumulated_token_usage", {})
    counted = {name: counted_before.get(name, 0) + getattr(usage, name) for name in _SUMMED}
    after = {
        "model_name": llm.model,
        "accumulated_cost": before.get("accumulated_cost", 0.0) + cost_of(llm, usage),
        "max_budget_per_task": None,
        "accumulated_token_usage": {
            "model": llm.model,
            **counted,
            "context_window": 0,
            "per_turn_token": usage.prompt_tokens + usage.completion_tokens,
            "response_id": "",
        },
    }
    return {"usage_to_metrics": {**metrics, llm.usage_id: after}}


def cost_of(llm: LLM, usage: Usage) -> float:
    """Dollars: as the vendor states them, else by the configured prices, else 0."""
    if usage.cost is not None:
        return usage.cost
    prompt = usage.prompt_tokens * (llm.input_cost_per_token or 0)
    return prompt + usage.completion_tokens * (llm.output_cost_per_token or 0)
