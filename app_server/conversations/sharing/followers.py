"""Ends live streams of shared conversations. A stream ends when its user no longer has access to the
conversation.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import select

from app_server.conversations.models import Conversation
from app_server.conversations.sharing.access import visible_to
from app_server.core.cancellable_blocks import HeldBlocks
from app_server.core.database import Database


class AccessEnded(Exception):
    """The error that ends a user's live stream of a conversation, because the conversation is no longer
    shared with the user.
    """


class Followers:
    """The open live streams of users who follow conversations of other users. The method `check` closes the
    streams of users who no longer have access.

    `check` reads the current access from the database. So it also notices if the owner has ended the access
    at another app server. It needs only one SQL statement for each user.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: HeldBlocks[tuple[UUID, UUID]] = HeldBlocks()

    @asynccontextmanager
    async def hold(self, user_id: UUID, conversation: Conversation) -> AsyncIterator[None]:
        """Watches the access of the user to the conversation during the block of a `with` statement. The
        block sends a live stream of the conversation to the user.

        If the user loses the access, the block is cancelled and AccessEnded is raised. The owner never loses
        the access.
        """
        if conversation.user_id == user_id:
            yield
            return
        async with self._held.until_ended((user_id, conversation.id), AccessEnded):
            yield

    async def check(self) -> None:
        """Ends the live streams of users who have lost the access to the conversation that they follow."""
        followed: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for user_id, conversation_id in self._held.causes:
            followed[user_id].add(conversation_id)
        for user_id, ids in followed.items():
            query = select(Conversation.id).where(Conversation.id.in_(ids), visible_to(user_id))
            async with self._database.brief_read() as session:
                visible = set(await session.scalars(query))
            for conversation_id in ids - visible:
                self._held.end((user_id, conversation_id))
