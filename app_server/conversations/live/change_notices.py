"""Notifies the live streams of users that a conversation has changed. The published message contains only the
id of the conversation. Each live stream then reads from the database what its user may see.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, true
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.sharing.models import ConversationShare, ConversationTeamShare
from app_server.conversations.view import Viewer
from app_server.core.database import Database
from app_server.core.pubsub import Frame, PubSub, publish_after_commit
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import User


async def channels_of(session: AsyncSession, conversation_id: UUID) -> frozenset[UUID]:
    """Returns the ids of the pubsub channels on which a change of the conversation must be published. These
    are the channels of the users and teams who may see the conversation. If the conversation is shared with
    everyone, it is only the channel of the organisation.

    Also works for a conversation that is marked as deleted, so that its deletion can be published. Returns an
    empty set if there is no row of the conversation.
    """
    people = select(ConversationShare.user_id).where(ConversationShare.conversation_id == conversation_id)
    teams = select(ConversationTeamShare.team_id).where(
        ConversationTeamShare.conversation_id == conversation_id
    )
    guests = people.union_all(teams).subquery()
    query = (
        select(Conversation.user_id, Conversation.everyone_role, User.organisation_id, *guests.c)
        .join(User, User.id == Conversation.user_id)
        .outerjoin(guests, true())
        .where(Conversation.id == conversation_id)
    )
    rows = (await session.execute(query)).all()
    for _, everyone, organisation_id, _ in rows:
        if everyone is not None:
            return frozenset((organisation_id,))
    return frozenset(channel for owner, _, _, guest in rows for channel in (owner, guest) if channel)


def tell(pubsub: PubSub, channels: Iterable[UUID], conversation_id: UUID) -> None:
    """Publishes the id of a changed or deleted conversation on these pubsub channels. A live stream that
    listens to one of the channels then reads from the database what its user may see.
    """
    for channel in channels:
        pubsub.publish(channel, [Frame(conversation_id.hex)])


@dataclass(frozen=True)
class News:
    """The messages to publish after a conversation has changed. `publish` publishes them.

    `frames`: the new state of the conversation, for the clients that follow the events of this conversation.
    `channels`: the pubsub channels of all users who may see the conversation. On these channels, only the
    conversation's id is published, for the live streams of the users.
    """

    conversation_id: UUID
    frames: Sequence[Frame]
    channels: frozenset[UUID]

    def publish(self, pubsub: PubSub) -> None:
        pubsub.publish(self.conversation_id, self.frames)
        tell(pubsub, self.channels, self.conversation_id)


async def news_of(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> News:
    frames = await viewer.frames(session, conversation_id)
    return News(conversation_id, frames, await channels_of(session, conversation_id))


async def announce(database: Database, pubsub: PubSub, sandboxes: Sandboxes, conversation_id: UUID) -> None:
    """Reads the current state of the conversation and publishes it to the streams of all users who may see
    the conversation.
    """
    async with database.read() as session:
        news = await news_of(session, Viewer(sandboxes), conversation_id)
    news.publish(pubsub)


def named_in(frame: Frame) -> UUID | None:
    """Returns the id of the changed conversation from a message that `tell` has published. Returns None for
    any other message.
    """
    try:
        return UUID(hex=frame.text)
    except ValueError:
        return None


@asynccontextmanager
async def telling(session: AsyncSession, pubsub: PubSub, conversation_id: UUID) -> AsyncIterator[None]:
    """Notifies the live streams of users about a change of who may see the conversation. The caller makes
    this change in the block of the `with` statement.

    Notifies the users who could see the conversation before the block and the users who can see it after the
    block. The notices are sent after the commit of `session`.
    """
    before = await channels_of(session, conversation_id)
    yield
    for channel in before | await channels_of(session, conversation_id):
        publish_after_commit(session, pubsub, channel, [Frame(conversation_id.hex)])
