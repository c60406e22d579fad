"""Calls that will never have a result of their own: after a crash, an interruption, a step back, a copy."""

from agent_runtime.conversation.event_log import dangling_calls
from agent_runtime.conversation.run.context import Running
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ExecutionStatus, status_update


def unanswered(conversation: Running, *, by: str) -> list[AgentErrorEvent]:
    """An answer for each pending call, not yet in the log. by: what ended them, as in "by the user"."""
    return dangling_calls.give_up(conversation.state.pending, conversation.agent, conversation.tools, by=by)


def give_up(conversation: Running, *, by: str) -> None:
    """Answers the pending calls in the log."""
    conversation.emit(*unanswered(conversation, by=by))


def recover(conversation: Running) -> None:
    """After a crash: answers the calls whose results are lost, so that a run can go on."""
    if not conversation.is_running and dangling_calls.lost(
        conversation.state.pending, conversation.agent, conversation.tools
    ):
        give_up(conversation, by="by a restart")


def settle(conversation: Running, *, by: str) -> None:
    """For a log that came from elsewhere: whatever it says, nothing is under way in it."""
    give_up(conversation, by=by)
    if conversation.state.status is ExecutionStatus.RUNNING and not conversation.is_running:
        conversation.emit(status_update(ExecutionStatus.IDLE))
