"""Limits the size of a conversation's event log. When the log reaches its maximum size, it is ended and
accepts no more events.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.events.base import Event
from agent_runtime.events.errors import ConversationErrorEvent, ErrorClassification
from agent_runtime.events.state import ConversationStateUpdateEvent
from app_server.conversations.models import Conversation
from app_server.core.errors import Gone
from app_server.events import log
from app_server.events.log import Appended
from app_server.events.schemas import DurableFrame

CODE = "log_full"
MAX_EVENTS = 200_000
MAX_LOG_CHARACTERS = 2 * 1024**3


class LogFull(Gone):
    def __init__(self) -> None:
        super().__init__(
            f"A conversation holds at most {MAX_EVENTS} events of {MAX_LOG_CHARACTERS} characters in all.",
            code=CODE,
            fix="Go on in a new conversation.",
        )


def require_open(conversation: Conversation) -> None:
    """Checks that the conversation's event log accepts more events. Raises LogFull if the log has reached its
    maximum size.
    """
    if conversation.log_size > MAX_LOG_CHARACTERS:
        raise LogFull


def add_to_size(conversation: Conversation, appended: Appended) -> None:
    """Adds the size of the new events to the stored size of the conversation's event log. `appended`: the
    events that were just added to the log.

    Raises LogFull if the log is now larger than its maximum size. Then the caller must discard the new events
    and end the log with `end`.
    """
    conversation.log_size += sum(len(frame.body) for frame in appended.new)
    if appended.acknowledged_seq > MAX_EVENTS:
        raise LogFull
    require_open(conversation)


async def end(session: AsyncSession, conversation: Conversation) -> Appended:
    """Ends the event log of a conversation that has reached its maximum size. Appends two last events, which
    tell the user that the log is full and that the agent has stopped, and returns them. From then on, the log
    accepts no events. The caller must hold the lock of the conversation's row.
    """
    last = await log.last_seq(session, conversation.id)
    classification = ErrorClassification(kind="quota", retryable=False, user_action="none")
    why = ConversationErrorEvent(
        code=CODE,
        detail=f"The log of this conversation is full. {LogFull().detail}",
        classification=classification,
    )
    stopped = ConversationStateUpdateEvent(key="execution_status", value="error")
    frames = [_frame(last + 1, why), _frame(last + 2, stopped)]
    conversation.log_size = MAX_LOG_CHARACTERS + 1
    return await log.append(session, conversation.id, frames)


def _frame(seq: int, event: Event) -> DurableFrame:
    return DurableFrame(type="durable", seq=seq, event=event.model_dump(mode="json"))
