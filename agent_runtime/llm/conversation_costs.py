"""Computes the token usage and cost of a conversation, in the format that clients of the agent server expect.
There is one entry per `usage_id`, a name in the model's configuration such as `agent`.
"""

from typing import Any

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import Reply

NO_STATS: dict[str, Any] = {"usage_to_metrics": {}}

_SUMMED = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def add_usage(stats: dict[str, Any], llm: LLM, reply: Reply) -> dict[str, Any]:
    """Returns a copy of the token and cost statistics to which one more model call was added. `reply`: the
    reply to this call. `llm`: the configured model, in whose place another model may have replied.

    The statistics have one entry per `usage_id`. The call is added to the entry of the model that has replied
    (`reply.answered_by`). If this entry does not exist yet, it is created, with the budget from the
    configuration of `llm`.
    """
    answered_by, usage = reply.answered_by or llm, reply.usage
    metrics = stats["usage_to_metrics"]
    before = metrics.get(answered_by.usage_id, {})
    counted_before = before.get("accumulated_token_usage", {})
    counted = {name: counted_before.get(name, 0) + getattr(usage, name) for name in _SUMMED}
    after = {
        "model_name": answered_by.model,
        "accumulated_cost": before.get("accumulated_cost", 0.0) + (usage.cost or 0.0),
        "max_budget_per_task": before.get("max_budget_per_task", llm.max_budget_per_task),
        "accumulated_token_usage": {
            "model": answered_by.model,
            **counted,
            "context_window": reply.context_window or 0,
            "per_turn_token": usage.prompt_tokens + usage.completion_tokens,
            "response_id": reply.id,
        },
    }
    return {"usage_to_metrics": {**metrics, answered_by.usage_id: after}}


def with_others(stats: dict[str, Any], usage_id: str, others: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of the token and cost statistics `stats` that also contains the costs of another
    conversation, such as a sub-agent's. `others`: the statistics of the other conversation.

    The sums of the tokens and costs in `others` become one entry of the copy, under the name `usage_id`. An
    existing entry with this name is replaced.
    """
    used = list(others["usage_to_metrics"].values())
    counted = [metrics["accumulated_token_usage"] for metrics in used]
    model = used[0]["model_name"] if used else ""
    summed = {
        "model_name": model,
        "accumulated_cost": total_cost(others),
        "max_budget_per_task": None,
        "accumulated_token_usage": {
            "model": model,
            **{name: sum(usage[name] for usage in counted) for name in _SUMMED},
            "context_window": 0,
            "per_turn_token": 0,
            "response_id": "",
        },
    }
    return {"usage_to_metrics": {**stats["usage_to_metrics"], usage_id: summed}}


def budget_of(stats: dict[str, Any], llm: LLM) -> float | None:
    """Returns the budget of the whole conversation in dollars, or None if there is no limit. `llm`: the
    agent's model.

    Uses the budget in the statistics, in the entry of this model. If this entry does not exist or has no
    budget field, uses the budget in the model's configuration.
    """
    metrics = stats["usage_to_metrics"].get(llm.usage_id, {})
    limit: float | None = metrics.get("max_budget_per_task", llm.max_budget_per_task)
    return limit


def with_budget(stats: dict[str, Any], llm: LLM, dollars: float | None) -> dict[str, Any]:
    """Returns a copy of the token and cost statistics with a budget for the conversation; None means no
    limit. In these statistics, this budget replaces the budget in the model's configuration
    (`llm.max_budget_per_task`).
    """
    metrics = stats["usage_to_metrics"]
    unused = {"model": llm.model, **dict.fromkeys(_SUMMED, 0), "context_window": 0, "per_turn_token": 0}
    nothing = {
        "model_name": llm.model,
        "accumulated_cost": 0.0,
        "accumulated_token_usage": {**unused, "response_id": ""},
    }
    changed = {**nothing, **metrics.get(llm.usage_id, {}), "max_budget_per_task": dollars}
    return {"usage_to_metrics": {**metrics, llm.usage_id: changed}}


def total_cost(stats: dict[str, Any]) -> float:
    """Returns the cost in dollars of all model calls: the sum over all entries of the statistics."""
    return float(sum(metrics["accumulated_cost"] for metrics in stats["usage_to_metrics"].values()))
