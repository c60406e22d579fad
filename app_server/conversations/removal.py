"""Removes the data of deleted conversations.

If no other conversation uses the sandbox of the deleted conversation, the sandbox is also removed. Otherwise
only the deleted conversation's files and event log are removed from the sandbox.
"""

import logging
import shlex
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import aliased

from app_server.agent_client.client import AgentClient
from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.start import repository
from app_server.conversations.start.tasks import elsewhere
from app_server.core.database import Database, now
from app_server.core.errors import NotFound
from app_server.events import word_index
from app_server.events.log import delete_log
from app_server.llm_gateway.limits.spending import forget_conversation
from app_server.sandbox_records.models import Archive, Sandbox, SandboxStatus
from app_server.sandbox_records.ownership import is_lost
from app_server.sandboxes.service import Sandboxes

logger = logging.getLogger(__name__)

_PER_TRANSACTION = 1000
_REACHABLE = (SandboxStatus.RUNNING, SandboxStatus.PAUSED)


async def deleted_conversations(
    database: Database, limit: int, server_id: str | None = None
) -> Sequence[UUID]:
    """Returns the ids of at most `limit` deleted conversations whose data this server can remove now, in the
    order in which they were deleted. `server_id`: the id of this app server; None means that there is only
    one app server.

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
    await _forget_words(database, conversation_id)
    async with database.session() as session:
        await delete_log(session, conversation_id)
        await forget_conversation(session, conversation_id)
        await session.execute(delete(StartTask).where(StartTask.id == conversation_id))
        await session.execute(delete(Conversation).where(Conversation.id == conversation_id))


async def _forget_words(database: Database, conversation_id: UUID) -> None:
    """Deletes the conversation's entries in the search index. Uses several short transactions, so that other
    writers do not wait long.
    """
    while True:
        async with database.session() as session:
            if await word_index.delete_some(session, conversation_id, _PER_TRANSACTION) < _PER_TRANSACTION:
                return


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
