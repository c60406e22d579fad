"""Moves a conversation back to an earlier event, from which the conversation then continues. The later events
stay in the log as an abandoned branch.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import EventNotFoundError
from agent_runtime.conversation.event_log.state import LEAF
from agent_runtime.conversation.run.recovery import give_up
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update


def go_back(conversation: ConversationEngine, event_id: str | None) -> None:
    """Moves the conversation back to an earlier event, from which the conversation then continues.
    `event_id`: the id of this event; None means the beginning of the conversation, before all events.

    Raises EventNotFoundError if there is no such event. Raises AlreadyRunningError during a run (work of the
    agent) or a condensation (the making of a summary that replaces older events).
    """
    conversation.require_rest()
    if event_id is not None and not _is_on_some_branch(conversation, event_id):
        raise EventNotFoundError.of(event_id)
    conversation.emit(ConversationStateUpdateEvent(key=LEAF, value=event_id))
    # The event may be a call whose result is on the branch that was left.
    give_up(conversation.run_context, by="by going back to this point")
    if conversation.state.status is not ExecutionStatus.IDLE:
        conversation.emit(status_update(ExecutionStatus.IDLE))
    conversation.publish_full_state()


def _is_on_some_branch(conversation: ConversationEngine, event_id: str) -> bool:
    record = conversation.log.get(event_id)
    return record is not None and record.kind != "ConversationStateUpdateEvent"
