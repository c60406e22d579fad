"""Builds the description of a conversation that clients get, with its id, title, status, cost and other
fields.
"""

from datetime import UTC, datetime
from pathlib import Path

from agent_runtime.conversation.event_log.proof import PROOF
from agent_runtime.conversation.event_log.state import State
from agent_runtime.conversation.event_log.sub_agent_task import TASKS
from agent_runtime.conversation.run.goal import GOAL
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.wire import ConversationInfo


def describe(spec: Spec, state: State, status: ExecutionStatus, directory: Path) -> ConversationInfo:
    """Returns the description of a conversation for clients. `spec`: the data with which the conversation was
    created. `state`: its state, computed from its log. `status`: its current status. `directory`: the
    directory that contains its log.
    """
    request = spec.request
    agent = state.agent or request.agent
    return ConversationInfo.model_validate(
        {
            **request.model_dump(exclude={"conversation_id", "initial_message", "autotitle", "mcp_approved"}),
            "id": spec.id,
            "persistence_dir": str(directory),
            "execution_status": status,
            **state.safeguards,
            "last_user_message_id": state.last_user_message_id,
            "leaf_event_id": state.leaf_event_id,
            "stats": state.stats,
            "metrics": _total(state.stats),
            "blocked_messages": state.blocked_messages,
            "blocked_actions": state.blocked_actions,
            "agent": agent,
            "sub_conversation_ids": state.children,
            "parent_conversation_id": spec.parent_conversation_id,
            "current_model_id": agent["llm"]["model"],
            "agent_state": _agent_state(state),
            "title": state.title or request.title,
            "tags": request.tags if state.tags is None else state.tags,
            "activated_knowledge_skills": state.activated_skills,
            "invoked_skills": state.invoked_skills,
            "forked_from_conversation_id": spec.forked_from_conversation_id,
            "forked_from_event_id": spec.forked_from_event_id,
            "created_at": spec.created_at,
            "updated_at": updated_at(spec, state.last_timestamp),
        }
    )


def _agent_state(state: State) -> JsonObject:
    goal = {} if state.goal is None else {GOAL: state.goal.model_dump(mode="json")}
    tasks = {
        task_id: task.model_dump(mode="json", exclude_none=True) for task_id, task in state.tasks.items()
    }
    work = state.work
    shown = {PROOF: work.proof()} if work.is_changed and work.is_reported else {}
    return {**goal, **shown, **({TASKS: tasks} if tasks else {})}


def updated_at(spec: Spec, last_timestamp: str) -> datetime:
    return to_utc(last_timestamp) if last_timestamp else spec.created_at


def to_utc(timestamp: str) -> datetime:
    """Converts an event's timestamp, which is a local time without a time zone, to UTC."""
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
