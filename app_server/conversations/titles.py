"""Sends new conversation titles, which users have given, to the agent servers. A title waits until the agent
server can be reached.

The agent server writes the title to the event log. If both the user and the agent server change the title,
the last change counts.
"""

import asyncio
import logging
import time
from uuid import UUID
from weakref import WeakValueDictionary

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.agent_client.client import AgentClient
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import elsewhere
from app_server.core.database import Database
from app_server.core.errors import AppError
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 2.0
MAX_AT_ONCE = 50
MAX_PAUSE_SECONDS = 60.0


async def title_of(session: AsyncSession, conversation_id: UUID) -> str | None:
    """Returns the title of a conversation. Returns None if the conversation has no title yet."""
    return await session.scalar(select(Conversation.title).where(Conversation.id == conversation_id))


class Titles:
    """The service that sends new conversation titles to agent servers. `hand_over_all` sends all waiting
    titles; the app server calls it at intervals. `hand_over` sends one title at once.
    """

    def __init__(self, database: Database, sandboxes: Sandboxes) -> None:
        self._database = database
        self._sandboxes = sandboxes
        # Two changes of one title must not overtake each other.
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._pauses: dict[UUID, _Pause] = {}

    async def hand_over_all(self) -> None:
        """Sends the waiting titles to the running agent servers. If a title could not be sent, it is sent
        again after a pause that grows with each failure.
        """
        waiting = await self._waiting()
        self._pauses = {key: pause for key, pause in self._pauses.items() if key in waiting}
        due = [each for each in waiting if each not in self._pauses or self._pauses[each].is_over]
        await asyncio.gather(*(self.hand_over(each) for each in due))

    async def hand_over(self, conversation_id: UUID) -> None:
        """Sends the title of one conversation to its agent server. Does nothing if no title waits. If the
        agent server cannot be reached, the title continues to wait.
        """
        try:
            async with self._locks.setdefault(conversation_id, asyncio.Lock()):
                await self._send(conversation_id)
        except AppError as error:
            self._pauses.setdefault(conversation_id, _Pause()).begin()
            logger.info(
                "a title waits for its agent server",
                extra={"conversation_id": conversation_id.hex, "reason": error.detail},
            )

    async def _send(self, conversation_id: UUID) -> None:
        async with self._database.read() as session:
            row = (
                await session.execute(
                    select(Conversation.sandbox_id, Conversation.unsent_title)
                    .join(StartTask, StartTask.id == Conversation.id)
                    .where(Conversation.id == conversation_id, StartTask.status == StartStatus.READY)
                )
            ).one_or_none()
        if row is None or row.unsent_title is None:
            return
        client = self._sandboxes.client(row.sandbox_id)
        await send_title(self._database, client, conversation_id, row.unsent_title)

    async def _waiting(self) -> set[UUID]:
        query = (
            select(Conversation.id)
            .join(Sandbox, Sandbox.id == Conversation.sandbox_id)
            .join(StartTask, StartTask.id == Conversation.id)
            .where(
                Conversation.unsent_title.is_not(None),
                Conversation.deleted_at.is_(None),
                Sandbox.status == SandboxStatus.RUNNING,
                StartTask.status == StartStatus.READY,
                ~elsewhere(Conversation.sandbox_id, self._sandboxes.server_id),
            )
            .order_by(Conversation.updated_at.desc())
            .limit(MAX_AT_ONCE)
        )
        async with self._database.read() as session:
            return set(await session.scalars(query))


async def send_title(database: Database, client: AgentClient, conversation_id: UUID, title: str) -> None:
    """Sends the title to the agent server and marks the title as sent. If the user has set a newer title in
    the meantime, the newer title stays marked as waiting. After a failure, the call may be repeated. Raises
    AppError if the title could not be sent; the title then continues to wait.
    """
    await client.set_title(conversation_id, title)
    async with database.session() as session:
        # A newer title that came meanwhile stays unsent.
        await session.execute(
            update(Conversation)
            .where(Conversation.id == conversation_id, Conversation.unsent_title == title)
            .values(unsent_title=None)
        )


class _Pause:
    def __init__(self) -> None:
        self._seconds = INTERVAL_SECONDS / 2
        self._until = 0.0

    def begin(self) -> None:
        self._seconds = min(2 * self._seconds, MAX_PAUSE_SECONDS)
        self._until = time.monotonic() + self._seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until
