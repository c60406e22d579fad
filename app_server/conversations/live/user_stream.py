"""The live stream of one user: first a snapshot of the user's conversations, start tasks (the progress of
starting a conversation) and spending on models, then each change.

The content of every frame (message to the client) is read from the database with the access rights of this
user. A published message only says that something has changed. If published messages are lost, the stream
later finds the changes in the database.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import or_, select

from app_server.conversations.live.change_notices import named_in
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.schemas import AppConversation, StartTaskInfo
from app_server.conversations.view import Row, Viewer, conversation_rows, show_task
from app_server.core.database import Database, Id
from app_server.core.pubsub import EVERYONE, LOOK, Frame, PubSub, Subscription
from app_server.llm_gateway.limits.calls import SPENT
from app_server.llm_gateway.limits.limit_routes import SpendingLimit, read_limit
from app_server.teams.membership import teams_of
from app_server.users.colleagues import organisation_of

NEWEST = 50
MAX_WAITING = 100
MAX_KNOWN = 500
PAUSE_SECONDS = 0.1
"""The shortest time in seconds between two database reads of a stream. Changes in this time are sent
together.
"""

_ENDED = frozenset((StartStatus.READY, StartStatus.ERROR))


class SnapshotFrame(BaseModel):
    """The first message (frame) of a user's live stream: the current state of everything that the stream
    reports. It is sent again if the user joins or leaves a team.

    `conversations`: the newest 50 conversations that the user may see, and up to 100 in which the agent waits
    for an approval or an answer. `start_tasks`: the start tasks (the progress of starting a conversation) of
    those listed conversations that belong to the user and are still starting. `spending`: the user's spending
    on models and its limits.
    """

    type: Literal["snapshot"] = "snapshot"
    conversations: list[AppConversation]
    start_tasks: list[StartTaskInfo]
    spending: SpendingLimit


class ConversationFrame(BaseModel):
    """The message (frame) of a user's live stream about a conversation that is new to the user or has
    changed.
    """

    type: Literal["conversation"] = "conversation"
    conversation: AppConversation


class StartTaskFrame(BaseModel):
    """The message (frame) of a user's live stream about a start task that has changed. A start task is the
    progress of starting one conversation of the user.
    """

    type: Literal["start_task"] = "start_task"
    task: StartTaskInfo


class RemovedFrame(BaseModel):
    """The message (frame) of a user's live stream about a conversation that was deleted or is no longer
    shared with the user.
    """

    type: Literal["removed"] = "removed"
    conversation_id: Id


class SpendingFrame(BaseModel):
    """The message (frame) of a user's live stream about a change in the user's spending on models or in the
    spending limits.
    """

    type: Literal["spending"] = "spending"
    spending: SpendingLimit


_Key = tuple[Literal["conversation", "start_task"], UUID]

UserFrame = SnapshotFrame | ConversationFrame | StartTaskFrame | RemovedFrame | SpendingFrame


@dataclass
class UserStream:
    """The live stream of one user over one connection to a client. Its method `frames` yields the messages
    (frames) for the client.
    """

    database: Database
    pubsub: PubSub
    viewer: Viewer
    user_id: UUID
    _known: OrderedDict[_Key, int] = field(default_factory=OrderedDict)
    """For each conversation and each start task (progress of a conversation's start): a hash of the state
    that was last sent to the client.
    """

    async def frames(self) -> AsyncGenerator[UserFrame]:
        """Yields the messages (frames) for the client. The first one is a snapshot of the user's
        conversations, start tasks (the progress of starting a conversation) and spending on models. The
        others report the changes.

        Raises Ended if the server ends one of the pubsub subscriptions from which the stream learns of
        changes.
        """
        async with self.pubsub.subscribe(self.user_id) as own, self.pubsub.subscribe(EVERYONE) as common:
            is_first = True
            while True:
                groups = await self._groups()
                async with (
                    self._subscribed(groups) as of_groups,
                    _arriving(own, common, *of_groups) as arriving,
                ):
                    if is_first:
                        yield await self._snapshot()
                        is_first = False
                    else:
                        # First, the frames for conversations that are known to be removed. The client may
                        # also show other conversations of its former teams, which are not known here. So a
                        # snapshot follows.
                        for frame in await self._changes((LOOK,)):
                            yield frame
                        yield await self._snapshot()
                    while True:
                        messages = await arriving.next()
                        if LOOK in messages and await self._groups() != groups:
                            break
                        for frame in await self._changes(messages):
                            yield frame
                        await asyncio.sleep(PAUSE_SECONDS)

    async def _groups(self) -> set[UUID]:
        """Returns the ids of the user's teams and of the user's organisation. The stream subscribes to the
        pubsub channels with these ids, because changes of shared conversations are published there.
        """
        async with self.database.read() as session:
            return {
                *await session.scalars(teams_of(self.user_id)),
                *await session.scalars(select(organisation_of(self.user_id))),
            }

    @asynccontextmanager
    async def _subscribed(self, channels: Collection[UUID]) -> AsyncIterator[list[Subscription]]:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.pubsub.subscribe(each)) for each in channels]

    async def _snapshot(self) -> SnapshotFrame:
        rows = await self._rows()
        conversations = [self.viewer.show(row, self.user_id) for row in rows]
        tasks = [show_task(row[1]) for row in rows if self._is_own(row[1]) and row[1].status not in _ENDED]
        for conversation in conversations:
            self._is_news(("conversation", conversation.id), conversation)
        for task in tasks:
            self._is_news(("start_task", task.id), task)
        return SnapshotFrame(conversations=conversations, start_tasks=tasks, spending=await self._spending())

    async def _rows(self) -> list[Row]:
        """Returns the database rows of the newest conversations that the user may see, and of those in which
        the agent waits for an approval or an answer.
        """
        visible = conversation_rows(self.user_id)
        waits = or_(
            Conversation.execution_status == "waiting_for_confirmation", Conversation.open_questions > 0
        )
        order = (Conversation.created_at.desc(), Conversation.id.desc())
        async with self.database.read() as session:
            newest: Any = await session.execute(visible.order_by(*order).limit(NEWEST))
            waiting: Any = await session.execute(visible.where(waits).order_by(*order).limit(MAX_WAITING))
            found: dict[UUID, Row] = {row[0].id: row for row in (*newest, *waiting)}
        return list(found.values())

    async def _changes(self, messages: Collection[Frame]) -> list[UserFrame]:
        """Returns the frames (messages to the client) about the changes that `messages` announce. Reads the
        new state from the database, and leaves out conversations and start tasks that the client already
        knows in this state.

        `messages`: the messages that have arrived on the stream's pubsub channels. If the message LOOK is
        among them, other messages may have been lost. The function then checks all conversations that the
        client may show.
        """
        ids = {named for frame in messages if (named := named_in(frame)) is not None}
        frames: list[UserFrame] = []
        if LOOK in messages:
            # Messages may have been lost, so everything that the client may show is checked.
            ids |= {id_ for _, id_ in self._known}
            ids |= {row[0].id for row in await self._rows()}
        if ids:
            frames += await self._changed(ids)
        if LOOK in messages or SPENT in messages:
            frames.append(SpendingFrame(spending=await self._spending()))
        return frames

    async def _changed(self, ids: Collection[UUID]) -> list[UserFrame]:
        async with self.database.read() as session:
            query = conversation_rows(self.user_id).where(Conversation.id.in_(ids))
            rows: dict[UUID, Row] = {row[0].id: row for row in await session.execute(query)}
        frames: list[UserFrame] = []
        for row in rows.values():
            conversation, task = self.viewer.show(row, self.user_id), row[1]
            was_starting = ("start_task", task.id) in self._known
            if self._is_own(task) and (was_starting or task.status not in _ENDED):
                shown = show_task(task)
                if self._is_news(("start_task", task.id), shown):
                    frames.append(StartTaskFrame(task=shown))
            if self._is_news(("conversation", conversation.id), conversation):
                frames.append(ConversationFrame(conversation=conversation))
        for gone in set(ids) - rows.keys():
            self._known.pop(("conversation", gone), None)
            self._known.pop(("start_task", gone), None)
            frames.append(RemovedFrame(conversation_id=gone))
        return frames

    async def _spending(self) -> SpendingLimit:
        async with self.database.read() as session:
            return await read_limit(session, self.user_id)

    def _is_own(self, task: StartTask) -> bool:
        return task.user_id == self.user_id

    def _is_news(self, key: _Key, shown: BaseModel) -> bool:
        """Returns whether the state of a conversation or start task (the progress of starting a conversation)
        differs from the state that the client received last. Also stores a hash of this state for the next
        comparison.

        `key`: says which conversation or start task it is. `shown`: its current state, as it would be sent to
        the client.
        """
        content = hash(shown.model_dump_json())
        before = self._known.pop(key, None)
        self._known[key] = content
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return before != content


class _Arriving:
    """Waits for messages of several pubsub subscriptions at the same time, because a live stream gets its
    changes from several channels.
    """

    def __init__(self, subscriptions: tuple[Subscription, ...]) -> None:
        self._next = {one: asyncio.ensure_future(one.next()) for one in subscriptions}

    async def next(self) -> set[Frame]:
        """Waits until a message has arrived on at least one subscription. Returns all messages that have
        arrived since the last call. Raises Ended if a subscription ends.
        """
        await asyncio.wait(self._next.values(), return_when=asyncio.FIRST_COMPLETED)
        messages: set[Frame] = set()
        for subscription, arrived in list(self._next.items()):
            if arrived.done():
                messages.add(arrived.result())
                messages.update(subscription.drain())
                self._next[subscription] = asyncio.ensure_future(subscription.next())
        return messages

    async def close(self) -> None:
        for waiting in self._next.values():
            waiting.cancel()
        await asyncio.gather(*self._next.values(), return_exceptions=True)


@asynccontextmanager
async def _arriving(*subscriptions: Subscription) -> AsyncIterator[_Arriving]:
    arriving = _Arriving(subscriptions)
    try:
        yield arriving
    finally:
        await arriving.close()
