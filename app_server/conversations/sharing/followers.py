"""Ends the live streams of users who follow a conversation of another user and may no longer see it."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import select

from app_server.conversations.models import Conversation
from app_server.conversations.sharing.access import visible_to
from app_server.core.database import Database
from app_server.core.held_blocks import HeldBlocks


class AccessEnded(Exception):
    """The error that ends a live stream because its user may no longer see the conversation."""


class Followers:
    """A register of the open live streams in which users follow conversations of other users. One SQL
    statement for each of these users checks whether the user still has access.

    The access is read from the database, so the owner can end it at any app server.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: HeldBlocks[tuple[UUID, UUID]] = HeldBlocks()

    @asynccontextmanager
    async def hold(self, user_id: UUID, conversation: Conversation) -> AsyncIterator[None]:
        """Runs the `async with` block. If the user loses the access to the conversation meanwhile, cancels
        the block and raises AccessEnded. The owner of the conversation cannot lose the access.
        """
        if conversation.user_id == user_id:
            yield
            return
        async with self._held.until_ended((user_id, conversation.id), AccessEnded):
            yield

    async def check(self) -> None:
        """Ends the live streams of the users who have lost their access to the conversation."""
        followed: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for user_id, conversation_id in self._held.causes:
            followed[user_id].add(conversation_id)
        for user_id, ids in followed.items():
            query = select(Conversation.id).where(Conversation.id.in_(ids), visible_to(user_id))
            async with self._database.brief_read() as session:
                visible = set(await session.scalars(query))
            for conversation_id in ids - visible:
                self._held.end((user_id, conversation_id))
