"""A conversation as clients read it."""

from datetime import UTC, datetime
from pathlib import Path

from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.state import State
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.wire import ConversationInfo


def describe(spec: Spec, state: State, status: ExecutionStatus, directory: Path) -> ConversationInfo:
    """What it was started with, and what its log has made of it. status: as it is now."""
    request = spec.request
    return ConversationInfo.model_validate(
        {
            **request.model_dump(exclude={"conversation_id", "initial_message", "autotitle"}),
            "id": spec.id,
            "persistence_dir": str(directory),
            "execution_status": status,
            "last_user_message_id": state.last_user_message_id,
            "leaf_event_id": state.leaf_event_id,
            "stats": state.stats,
            "metrics": _total(state.stats),
            "title": state.title or request.title,
            "tags": request.tags if state.tags is None else state.tags,
            "activated_knowledge_skills": state.activated_skills,
            "invoked_skills": state.invoked_skills,
            "forked_from_conversation_id": spec.forked_from_conversation_id,
            "forked_from_event_id": spec.forked_from_event_id,
            "created_at": spec.created_at,
            "updated_at": _to_utc(state.last_timestamp) if state.last_timestamp else spec.created_at,
        }
    )


def _to_utc(timestamp: str) -> datetime:
    """Events carry naive local time."""
    return datetime.fromisoformat(timestamp).astimezone(UTC)


def _total(stats: JsonObject) -> JsonObject:
    metrics = stats["usage_to_metrics"].values()
    names = (
        "prompt_tokens",
        "completion_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    )
    usage = {name: sum(m["accumulated_token_usage"][name] for m in metrics) for name in names}
    cost = sum(m["accumulated_cost"] for m in metrics)
    return {"accumulated_cost": cost, "accumulated_token_usage": usage}
