"""Decides whether an agent must continue when it says that it is done. The decision depends on the hooks, on
the critic (a model that rates the agent's work), on the judge (a model that checks the conversation's goal),
and on the event log.
"""

from agent_runtime.conversation.run.budget import check_cost
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.run.critic_review import is_refined
from agent_runtime.conversation.run.goal_audit import audit
from agent_runtime.conversation.run.nudge import go_on_or_finish
from agent_runtime.conversation.run.proof_check import is_questioned, report


async def is_sent_back(context: RunContext) -> bool:
    """Checks the work of an agent that says it is done, and returns whether the agent must continue. If it
    must, the function has already logged the reason as a message to the agent, or other new work has
    arrived. If it may stop, the function logs a report to the users if files were changed, except while the
    agent must wait for the user's answer.
    """
    if context.state.must_ask:
        return False  # it is the user's turn
    if _is_reminded_to_finish(context) or is_questioned(context):
        return True
    hooks = context.hooks
    if (hooks is not None and await hooks.object_to_stop(context)) or is_refined(context):
        return True
    await audit(context)
    if context.state.has_work:
        return True
    report(context)
    return False


def _is_reminded_to_finish(context: RunContext) -> bool:
    """Returns whether the agent must continue because it stopped without a call of the tool `finish`,
    although the conversation requires this call. If it must, the function has already logged a message that
    tells the agent to continue or to call `finish`.

    The message is logged only once until the agent calls a tool again or the user sends a message. Raises
    RunError if the conversation's budget is spent.
    """
    state = context.state
    if not (context.request.expects_finish and state.replied_without_call) or state.told_to_finish:
        return False
    check_cost(context)
    context.emit(go_on_or_finish())
    return True
