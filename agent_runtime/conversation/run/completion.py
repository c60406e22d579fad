"""Checks whether the work is really done when the agent says so."""

from agent_runtime.conversation.run.budget import check_cost
from agent_runtime.conversation.run.context import Running
from agent_runtime.conversation.run.critic_review import is_refined
from agent_runtime.conversation.run.goal_audit import audit
from agent_runtime.conversation.run.nudge import go_on_or_finish
from agent_runtime.conversation.run.proof_check import is_questioned, report


async def is_sent_back(conversation: Running) -> bool:
    """Whether the agent must continue. The reason is in the log then."""
    if conversation.state.must_ask:
        return False  # it is the user's turn
    if _is_told_to_go_on(conversation) or is_questioned(conversation):
        return True
    hooks = conversation.hooks
    if (hooks is not None and await hooks.object_to_stop(conversation)) or is_refined(conversation):
        return True
    await audit(conversation)
    if conversation.state.has_work:
        return True
    report(conversation)
    return False


def _is_told_to_go_on(conversation: Running) -> bool:
    """Once after each call, so that an agent that insists on its words is believed."""
    state = conversation.state
    if not (conversation.request.expects_finish and state.replied_without_call) or state.told_to_finish:
        return False
    check_cost(conversation)
    conversation.emit(go_on_or_finish())
    return True
