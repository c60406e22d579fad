"""Routes that add missing events to a conversation's log, for example after the machine was lost and the log
was restored from a backup.
"""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.conversation.event_log.reconciliation import tell_forked, tell_restored
from agent_runtime.server.routers.dependencies import ConversationLog, Conversations
from agent_runtime.wire import CatchUpRequest, LogPosition

router = APIRouter(prefix="/api/conversations/{conversation_id}/log", tags=["conversations"])


@router.get("")
async def position(log: ConversationLog) -> LogPosition:
    """Returns the position of the last event in the conversation's log; 0 if the log is empty."""
    return LogPosition(last_seq=log.last_seq)


@router.post(
    "/catch_up",
    responses={409: {"description": "It does not reach there, has others there, or a run is going on"}},
)
async def catch_up(conversation_id: UUID, missing: CatchUpRequest, registry: Conversations) -> LogPosition:
    """Adds events after the last event of the conversation's log, and returns the new last position. Events
    that the log already has are skipped, so the request may be repeated. The reply is 409 if the agent is
    working.

    The client sends `restored` after the workspace was restored from a backup, and `forked` if the
    conversation is a copy of another one. In both cases, unfinished tool calls are ended, and the agent gets
    a message that says what has happened and how old its files are. After a restore, a conversation with the
    status `running` becomes `paused`, and actions that wait for approval still wait.
    """
    conversation = await registry.catch_up(conversation_id, missing)
    if missing.restored is not None:
        tell_restored(conversation, missing.restored, registry.has)
    if missing.forked is not None:
        tell_forked(conversation, missing.forked)
    return LogPosition(last_seq=conversation.log.last_seq)
