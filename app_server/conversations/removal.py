"""Removes the data of deleted conversations.

If no other conversation uses the sandbox of the deleted conversation, the sandbox is also removed. Otherwise
only the deleted conversation's files and event log are removed from the sandbox.
"""

import logging
import shlex
import time
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import aliased

from app_server.agent_client.client import AgentClient
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.start import repository
from app_server.conversations.start.tasks import elsewhere
from app_server.core.database import Database, now
from app_server.core.errors import AppError, NotFound
from app_server.events import blobs, log, word_index
from app_server.llm_gateway.limits.spending import forget_conversation
from app_server.sandbox_records.models import Archive, Sandbox, SandboxStatus
from app_server.sandbox_records.ownership import is_lost
from app_server.sandboxes.service import Sandboxes

logger = logging.getLogger(__name__)

_PER_TRANSACTION = 1000
_BLOBS_PER_TRANSACTION = 50
_FIRST_PAUSE_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 300.0
_REACHABLE = (SandboxStatus.RUNNING, SandboxStatus.PAUSED)


class FailedRemovals:
    """The deleted conversations whose removal has failed, and the time when the next attempt may begin. The
    pause before the next attempt doubles with each failure. So removals that cannot succeed at present, for
    example on a lost host, do not delay the others.
    """

    def __init__(self) -> None:
        self._pauses: dict[UUID, float] = {}
        self._not_before: dict[UUID, float] = {}

    def waiting(self) -> set[UUID]:
        """Returns the ids of the conversations whose next attempt may not begin yet."""
        moment = time.monotonic()
        return {each for each, not_before in self._not_before.items() if not_before > moment}

    def add(self, conversation_id: UUID, error: BaseException) -> None:
        """Notes that the removal has failed with this error, and logs it."""
        pause = min(2 * self._pauses.get(conversation_id, _FIRST_PAUSE_SECONDS / 2), _MAX_PAUSE_SECONDS)
        self._pauses[conversation_id] = pause
        self._not_before[conversation_id] = time.monotonic() + pause
        extra = {"conversation_id": conversation_id.hex, "next_attempt_after_seconds": pause}
        if isinstance(error, AppError):
            extra |= {"cause": error.detail, "code": error.code}
            logger.warning("a deleted conversation cannot be removed yet", extra=extra)
        else:
            logger.error("the removal of a conversation failed", exc_info=error, extra=extra)

    def forget(self, conversation_id: UUID) -> None:
        """Notes that the removal has succeeded."""
        self._pauses.pop(conversation_id, None)
        self._not_before.pop(conversation_id, None)


async def deleted_conversations(
    database: Database, limit: int, server_id: str | None = None, *, leave_out: Collection[UUID] = ()
) -> Sequence[UUID]:
    """Returns the ids of at most `limit` deleted conversations whose data this server can remove now, in the
    order in which they were deleted. `server_id`: the id of this app server; None means that there is only
    one app server. `leave_out`: the ids of conversations that are not returned.

    Two kinds of conversations are left out. First, conversations whose sandbox is a process on the machine of
    another app server that still runs, because only that server can remove the process. Second, conversations
    that share a sandbox with conversations that are not deleted, if the sandbox is neither running nor paused
    (for example archived). Then single files cannot be removed from the sandbox.
    """
    other = aliased(Conversation)
    others = select(other.id).where(other.sandbox_id == Conversation.sandbox_id, other.deleted_at.is_(None))
    query = (
        select(Conversation.id)
        .outerjoin(Sandbox, Sandbox.id == Conversation.sandbox_id)
        .where(
            Conversation.deleted_at <= now(),
            Conversation.id.not_in(leave_out),
            or_(~elsewhere(Conversation.sandbox_id, server_id), is_lost(Sandbox.server_id)),
            or_(Sandbox.id.is_(None), Sandbox.status.in_(_REACHABLE), ~others.exists()),
        )
        .order_by(Conversation.deleted_at)
        .limit(limit)
    )
    async with database.read() as session:
        return (await session.scalars(query)).all()


async def take_down(database: Database, sandboxes: Sandboxes, conversation_id: UUID) -> None:
    """Removes all data of the deleted conversation from the database and the sandbox.

    If some data cannot be removed now, raises the error of the step that has failed: Unavailable, Conflict or
    BadGateway. A later call then removes the data that is left.
    """
    async with database.read() as session:
        conversation = await session.get(Conversation, conversation_id)
        if conversation is None:
            return
        others = await residents_of(session, conversation.sandbox_id)
        is_there = await session.get(Sandbox, conversation.sandbox_id) is not None
    # When the last conversation is deleted, no other can join the sandbox (sandbox_choice.py). So this answer
    # stays true.
    if others and is_there:
        await _remove_part(database, sandboxes, conversation)
    else:
        await sandboxes.delete(conversation.sandbox_id)
    await _forget_events(database, conversation_id)
    async with database.session() as session:
        await log.delete_log(session, conversation_id)
        await forget_conversation(session, conversation_id)
        await session.execute(delete(StartTask).where(StartTask.id == conversation_id))
        await session.execute(delete(Conversation).where(Conversation.id == conversation_id))


async def _forget_events(database: Database, conversation_id: UUID) -> None:
    """Deletes the conversation's entries in the search index, and then its events and their large parts. Uses
    many short transactions, so that other writers do not wait long. After an interruption, a later call
    deletes what is left.
    """
    for delete_some, limit in (
        (word_index.delete_some, _PER_TRANSACTION),
        (log.delete_some, _PER_TRANSACTION),
        (blobs.delete_some, _BLOBS_PER_TRANSACTION),
    ):
        deleted = limit
        while deleted == limit:
            async with database.session() as session:
                deleted = await delete_some(session, conversation_id, limit)


async def _remove_part(database: Database, sandboxes: Sandboxes, conversation: Conversation) -> None:
    """Removes the deleted conversation's event log, directory and snapshots from its sandbox. The sandbox
    itself stays, because other conversations still use it.
    """
    await sandboxes.wake(conversation.sandbox_id)
    running = sandboxes.running(conversation.sandbox_id)
    try:
        await running.client.delete_conversation(conversation.id)
    except NotFound:
        logger.info("it was removed before", extra={"conversation_id": conversation.id.hex})
    root = running.working_root
    directory = f"{root}/{conversation.folder}" if conversation.folder else conversation.working_dir
    if directory and directory != root:
        await _remove_directory(running.client, directory)
    async with database.read() as session:
        mine = select(Archive).where(Archive.conversation_id == conversation.id)
        snapshots = (await session.scalars(mine)).all()
    for snapshot in snapshots:
        await sandboxes.archives.remove(snapshot)


async def _remove_directory(client: AgentClient, directory: str) -> None:
    # Some package managers make read-only directories as caches. Their files cannot be removed without a
    # change of the mode.
    quoted = shlex.quote(directory)
    await repository.must_run(
        client,
        f"[ -e {quoted} ] || exit 0\nrm -rf {quoted} || {{ chmod -R u+rwX {quoted}; rm -rf {quoted}; }}",
    )
