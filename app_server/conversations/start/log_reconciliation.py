"""Completes the event logs of agent servers. The app server has the complete log of each conversation, and
sends the agent server the events that are missing there. Only then may the agent server add new events.

Events are missing in a sandbox that was restored from a backup, because the backup is older than the last
events. Events are also missing in the sandbox of a new fork (a copy of a conversation).
"""

import json
import logging
from collections.abc import Iterator
from uuid import UUID

from agent_runtime.wire import MAX_MISSING_EVENTS, CatchUpRequest, Forked, Restored
from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.start import tasks as start_tasks
from app_server.core.database import Database
from app_server.core.errors import NotFound
from app_server.events import log
from app_server.sandbox_records.models import Archive

logger = logging.getLogger(__name__)

PAGE_CHARACTERS = 2 * 1024 * 1024


async def reconcile_all(database: Database, running: RunningSandbox, backup: Archive) -> None:
    """Completes the agent server's event logs of all conversations in the sandbox. `backup`: the archive from
    which the sandbox was restored.

    A conversation that is younger than the backup does not exist at the agent server. Its start is repeated
    later, and its event log is then completed.

    Raises AppError if a log cannot be completed. Then no conversation of the sandbox may continue until a
    later call has succeeded.
    """
    async with database.read() as session:
        residents = [each for each in await residents_of(session, running.id) if each.last_seq]
    restored = Restored(id=backup.id.hex, as_of=backup.created_at, lost_events=0)
    for conversation in residents:
        try:
            await reconcile_log(database, running.client, conversation.id, restored)
        except NotFound as error:
            if error.code != "conversation_not_found":
                raise
            await _begin_anew(database, conversation.id)


async def reason_of(database: Database, conversation_id: UUID) -> Restored | Forked:
    """Finds out why events of the conversation are missing at the agent server, so that the agent can be
    informed. Returns Forked if the conversation is a new fork (a copy of another conversation). Otherwise
    returns Restored: its files were lost and restored.
    """
    async with database.read() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        if origin := conversation.forked_from_conversation_id:
            copied = Forked(id=conversation_id, conversation_id=origin, as_of=conversation.created_at)
            if await log.find(session, conversation_id, copied.message_id) is None:
                return copied
    return Restored(id=conversation.sandbox_id.hex, lost_events=0)


async def reconcile_log(
    database: Database, client: AgentClient, conversation_id: UUID, reason: Restored | Forked
) -> None:
    """Sends the agent server those events of this conversation that the agent server does not have. If at
    least one event was sent, also informs the agent of the reason: the files were lost, or the conversation
    is a fork.

    Raises NotFound if the agent server does not have the conversation. Raises AppError for other failures.
    """
    reached = await client.log_position(conversation_id)
    async with database.read() as session:
        last = await log.last_seq(session, conversation_id)
    if last <= reached:
        return
    if isinstance(reason, Restored):
        reason = reason.model_copy(update={"lost_events": last - reached})
    extra = {"conversation_id": conversation_id.hex, "events": last - reached}
    logger.info("a log is caught up", extra=extra)
    while reached < last:
        missing = await _page(database, conversation_id, reached)
        if not missing.events:
            return  # deleted meanwhile
        reached += len(missing.events)
        if reached >= last:
            field = "restored" if isinstance(reason, Restored) else "forked"
            missing = missing.model_copy(update={field: reason})
        await client.catch_up(conversation_id, missing)


async def _page(database: Database, conversation_id: UUID, after_seq: int) -> CatchUpRequest:
    async with database.read() as session:
        # The event before the missing ones is read, too, because its id tells where they belong.
        bodies = await log.read_bodies(
            session, conversation_id, from_seq=max(after_seq, 1), limit=MAX_MISSING_EVENTS
        )
    before = json.loads(bodies.pop(0))["id"] if after_seq else None
    events = [json.loads(body) for body in _as_fit(bodies)]
    return CatchUpRequest(after_seq=after_seq, after_id=before, events=events)


def _as_fit(bodies: list[str]) -> Iterator[str]:
    size = 0
    for body in bodies:
        if size and size + len(body) > PAGE_CHARACTERS:
            return
        size += len(body)
        yield body


async def _begin_anew(database: Database, conversation_id: UUID) -> None:
    async with database.session() as session:
        task = await session.get_one(StartTask, conversation_id, with_for_update=True)
        start_tasks.begin_anew(task)
    logger.warning(
        "a conversation is younger than its backup", extra={"conversation_id": conversation_id.hex}
    )
