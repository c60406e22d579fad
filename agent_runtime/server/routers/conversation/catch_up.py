"""A log that is behind what everybody else knows of it, as after its machine was lost."""

from uuid import UUID

from fastapi import APIRouter

from agent_runtime.conversation.event_log.reconciliation import tell_restored
from agent_runtime.server.routers.state import Conversations, FoundLog
from agent_runtime.wire import CatchUpRequest, LogPosition

router = APIRouter(prefix="/api/conversations/{conversation_id}/log", tags=["conversations"])


@router.get("")
async def position(log: FoundLog) -> LogPosition:
    """How far it has come."""
    return LogPosition(last_seq=log.last_seq)


@router.post(
    "/catch_up",
    responses={409: {"description": "It does not reach there, has others there, or a run is going on"}},
)
async def catch_up(conversation_id: UUID, missing: CatchUpRequest, registry: Conversations) -> LogPosition:
    """Adds events where they belong, directly after its last one; those it has already are fine.

    With `restored` the agent is told what its files are, and what was going on is ended. May be repeated.
    """
    conversation = await registry.catch_up(conversation_id, missing)
    if missing.restored is not None:
        tell_restored(conversation, missing.restored, registry.has)
    return LogPosition(last_seq=conversation.log.last_seq)
