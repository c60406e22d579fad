"""Checks whether the work is really done when the agent says that it is."""

from agent_runtime.conversation.run.budget import check_cost
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.critic_review import is_refined
from agent_runtime.conversation.run.goal_audit import audit
from agent_runtime.conversation.run.nudge import go_on_or_finish
from agent_runtime.conversation.run.proof_check import is_questioned, report


async def is_sent_back(context: RunContext) -> bool:
    """Whether the agent must continue. If so, the reason is in the log when this returns."""
    if context.state.must_ask:
        return False  # it is the user's turn
    if _is_told_to_go_on(context) or is_questioned(context):
        return True
    hooks = context.hooks
    if (hooks is not None and await hooks.object_to_stop(context)) or is_refined(context):
        return True
    await audit(context)
    if context.state.has_work:
        return True
    report(context)
    return False


def _is_told_to_go_on(context: RunContext) -> bool:
    """Tells the agent to continue, once after each call. If the agent insists that it is done, it is
    believed.
    """
    state = context.state
    if not (context.request.expects_finish and state.replied_without_call) or state.told_to_finish:
        return False
    check_cost(context)
    context.emit(go_on_or_finish())
    return True
