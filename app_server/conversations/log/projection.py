"""Computes from the event log the fields that lists of conversations show, such as title and cost. Processes
one event at a time, reads no earlier events and does no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app_server.conversations.log import prompt_cache

MAX_TITLE_CHARACTERS = 200
_MAX_CHARACTERS_OF_WORDS = 80

# A title is only looked for in the beginning of a text, because a text may be huge.
_READ_CHARACTERS = 10_000
_MAX_AMOUNT = 10**15
_MAX_WORD_CHARACTERS = 200
_MAX_QUESTIONS = 1000
_STATUSES = frozenset(
    ("idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck", "deleting")
)
_GOAL_STATUSES = frozenset(("running", "complete", "capped", "interrupted"))
_SUMMED_TOKENS = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


@dataclass(frozen=True)
class Projection:
    """The fields of a conversation's row that are computed from its event log.

    `metrics`: the costs and tokens, with the field names of the class MetricsSnapshot, and the statistics of
    the prompt cache under the key `prompt_cache`. `goal`: the progress of the goal, with the field names of
    the class ConversationGoal.

    `unsent_title`: a title that the user has given and that is not in the log yet; it takes priority over the
    title in the log. `open_questions`: how many questions of MCP servers the user has not answered yet.
    """

    last_seq: int = 0
    execution_status: str | None = None
    title: str | None = None
    unsent_title: str | None = None
    llm_model: str | None = None
    metrics: Mapping[str, Any] | None = None
    goal: Mapping[str, Any] | None = None
    open_questions: int = 0


def fold(state: Projection, seq: int, event: Mapping[str, Any]) -> Projection:
    """Takes the next event of the log into account and returns the new values of the fields that lists of
    conversations show, such as title and cost. `state`: the fields before this event. `seq`: the position of
    this event. Accepts events of any kind and shape; an unknown event changes only `last_seq`.
    """
    state = _with_change(replace(state, last_seq=seq), event)
    match event:
        case {"kind": "MessageEvent", "source": "user", "llm_message": {"content": content}}:
            return replace(state, title=state.title or title_of(content))
        case {"kind": "ConversationStateUpdateEvent", "key": str(key), "value": value}:
            return _with_field(state, key, value, event.get("timestamp"))
        case _:
            return state


def _with_change(state: Projection, event: Mapping[str, Any]) -> Projection:
    change = prompt_cache.change_of(event)
    if change is None:
        return state
    return replace(state, metrics=prompt_cache.after_change(state.metrics, change))


def title_of(content: Any) -> str | None:
    """Returns a title for a conversation from the content of a message: the first line that is not blank,
    shortened. Returns None if there is no such line.
    """
    parts = content if isinstance(content, list) else []
    texts = [
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    lines = (line for text in texts for line in text[:_READ_CHARACTERS].splitlines())
    return next((line for each in lines if (line := _shortened(each))), None)


def _shortened(line: str, most: int = _MAX_CHARACTERS_OF_WORDS) -> str | None:
    words = " ".join(_printable(line[:_READ_CHARACTERS]).split())
    if len(words) <= most:
        return words or None
    return words[: most - 1].rstrip() + "…"


def _printable(line: str) -> str:
    # A null character would be refused by PostgreSQL, and control characters say nothing in a title.
    return "".join(character if character.isprintable() else " " for character in line)


def _with_field(state: Projection, key: str, value: Any, timestamp: Any) -> Projection:
    match key, value:
        case "title", str(title) if state.unsent_title is None:
            return replace(state, title=_shortened(title, MAX_TITLE_CHARACTERS) or state.title)
        case "execution_status", str(status) if status in _STATUSES:
            return replace(state, execution_status=status)
        case "stats", {"usage_to_metrics": dict(by_usage)}:
            return _with_metrics(state, by_usage, timestamp)
        case "goal", {"status": str(status), "objective": str(objective)} if status in _GOAL_STATUSES:
            goal = {
                "objective": _printable(objective[:_MAX_WORD_CHARACTERS]),
                "status": status,
                "iteration": int(_number(value, "iteration")),
                "max_iterations": int(_number(value, "max_iterations")),
            }
            return replace(state, goal=goal)
        case "agent_state", {"mcp_questions": list(questions)}:
            return replace(state, open_questions=min(len(questions), _MAX_QUESTIONS))
        case _:
            return state


def _with_metrics(state: Projection, by_usage: Mapping[str, Any], timestamp: Any) -> Projection:
    """Returns a copy of `state` with the total cost and tokens of all model calls: the agent's calls and all
    other calls, such as the calls that make titles or summaries. `by_usage`: the metrics from the event, one
    entry for each purpose of model calls. `timestamp`: the time of the event. Returns `state` unchanged if
    `by_usage` contains no metrics.
    """
    parts = [part for part in by_usage.values() if isinstance(part, Mapping)]
    if not parts:
        return state
    agent = by_usage.get("agent")
    agent = agent if isinstance(agent, Mapping) else parts[0]
    tokens = [part.get("accumulated_token_usage") for part in parts]
    main_tokens = agent.get("accumulated_token_usage")
    usage = {
        "model": _word(main_tokens, "model"),
        "context_window": _number(main_tokens, "context_window"),
        "per_turn_token": _number(main_tokens, "per_turn_token"),
        "response_id": _word(main_tokens, "response_id"),
        **{name: sum(_number(part, name) for part in tokens) for name in _SUMMED_TOKENS},
    }
    metrics = {
        "model_name": _word(agent, "model_name") or "default",
        "accumulated_cost": sum(_number(part, "accumulated_cost") for part in parts),
        "max_budget_per_task": _number(agent, "max_budget_per_task") or None,
        "accumulated_token_usage": usage,
        **prompt_cache.after_stats(
            state.metrics, main_tokens if isinstance(main_tokens, Mapping) else {}, timestamp
        ),
    }
    return replace(state, metrics=metrics)


def _number(part: Any, name: str) -> float | int:
    """Returns the number in the field `name` of `part`. Returns 0 if the value is missing, is not a number,
    is negative, or is larger than _MAX_AMOUNT (10**15).
    """
    value = part.get(name) if isinstance(part, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0
    return value if 0 <= value <= _MAX_AMOUNT else 0


def _word(part: Any, name: str) -> str:
    value = part.get(name) if isinstance(part, Mapping) else None
    return _printable(value[:_MAX_WORD_CHARACTERS]) if isinstance(value, str) else ""
