"""Checks whether the work is really done when the agent says so."""

from agent_runtime.conversation.run.context import Running
from agent_runtime.conversation.run.critic_review import is_refined
from agent_runtime.conversation.run.goal_audit import audit


async def is_sent_back(conversation: Running) -> bool:
    """Whether the agent must continue. The reason is in the log then."""
    if conversation.state.must_ask:
        return False  # it is the user's turn
    hooks = conversation.hooks
    if (hooks is not None and await hooks.object_to_stop(conversation)) or is_refined(conversation):
        return True
    await audit(conversation)
    return conversation.state.has_work
