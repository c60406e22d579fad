"""Goes back to an earlier point of a conversation. The events after that point stay in the log as an
abandoned branch.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import EventNotFoundError
from agent_runtime.conversation.event_log.state import LEAF
from agent_runtime.conversation.run.recovery import give_up
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus, status_update


def go_back(conversation: ConversationEngine, event_id: str | None) -> None:
    """Goes back to an event, so that the conversation continues from there. `event_id`: None means the
    beginning of the conversation, before all events.

    Raises EventNotFoundError, or AlreadyRunningError while a run or a condensation is going on.
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
