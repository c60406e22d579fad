"""What a conversation's list entry shows of its log: a pure fold, one event at a time, no history read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

MAX_TITLE_CHARACTERS = 80

_STATUSES = frozenset(
    ("idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck", "deleting")
)
_SUMMED_TOKENS = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


@dataclass(frozen=True)
class Projection:
    """`metrics` is a MetricsSnapshot as the API gives it out."""

    last_seq: int = 0
    execution_status: str | None = None
    title: str | None = None
    llm_model: str | None = None
    metrics: Mapping[str, Any] | None = None


def fold(state: Projection, seq: int, event: Mapping[str, Any]) -> Projection:
    """The state after `event`, which stands at `seq`. Events of any kind and shape are fine."""
    state = replace(state, last_seq=seq)
    match event:
        case {"kind": "MessageEvent", "source": "user", "llm_message": {"content": content}}:
            return replace(state, title=state.title or title_of(content))
        case {"kind": "ConversationStateUpdateEvent", "key": str(key), "value": value}:
            return _with_field(state, key, value)
        case _:
            return state


def title_of(content: Any) -> str | None:
    """The first line of the first text in a message's content, shortened."""
    parts = content if isinstance(content, list) else []
    texts = [
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    lines = [" ".join(_printable(line).split()) for text in texts for line in text.splitlines()]
    first = next((line for line in lines if line), None)
    if first is None or len(first) <= MAX_TITLE_CHARACTERS:
        return first
    return first[: MAX_TITLE_CHARACTERS - 1].rstrip() + "…"


def _printable(line: str) -> str:
    # A null character would be refused by PostgreSQL, and control characters say nothing in a title.
    return "".join(character if character.isprintable() else " " for character in line)


def _with_field(state: Projection, key: str, value: Any) -> Projection:
    match key, value:
        case "execution_status", str(status) if status in _STATUSES:
            return replace(state, execution_status=status)
        case "stats", {"usage_to_metrics": dict(by_usage)}:
            return _with_metrics(state, by_usage)
        case _:
            return state


def _with_metrics(state: Projection, by_usage: Mapping[str, Any]) -> Projection:
    """The whole cost: of the agent's own calls and of all others (condensing, titles …)."""
    parts = [part for part in by_usage.values() if isinstance(part, Mapping)]
    if not parts:
        return state
    agent = by_usage.get("agent")
    agent = agent if isinstance(agent, Mapping) else parts[0]
    tokens = [part.get("accumulated_token_usage") for part in parts]
    main_tokens = agent.get("accumulated_token_usage")
    usage = {
        "model": "",
        "context_window": 0,
        "per_turn_token": 0,
        "response_id": "",
        **(main_tokens if isinstance(main_tokens, Mapping) else {}),
        **{name: sum(_number(part, name) for part in tokens) for name in _SUMMED_TOKENS},
    }
    metrics = {
        "model_name": str(agent.get("model_name") or "default"),
        "accumulated_cost": sum(_number(part, "accumulated_cost") for part in parts),
        "max_budget_per_task": agent.get("max_budget_per_task"),
        "accumulated_token_usage": usage,
    }
    return replace(state, metrics=metrics)


def _number(part: Any, name: str) -> float | int:
    value = part.get(name) if isinstance(part, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
