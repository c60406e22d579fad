"""Writes existing events into the event log of a new conversation, for a fork or an import. Many short
transactions are used, so that other writers to the database can write in between.

The conversation is hidden until its log is complete. For this, its `deleted_at` is set two minutes into the
future, and each transaction sets it again. If the server crashes, this time passes, and the conversation is
removed like a deleted conversation.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import undefer

from app_server.conversations.log import message_texts
from app_server.conversations.log.full_log import add_to_size
from app_server.conversations.log.ingest import project
from app_server.conversations.models import Conversation
from app_server.core.database import UNAVAILABLE, Database, now
from app_server.core.errors import Unavailable
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.users.models import User

PER_TRANSACTION = 100
_HIDDEN = timedelta(minutes=2)
"""How long the new conversation stays hidden after each transaction. The time is much longer than one
transaction takes, so a conversation is never removed while its events are still being copied.
"""


def hide(conversation: Conversation) -> None:
    """Hides the new conversation from its users for the next two minutes. `fill` hides it again each time,
    and `revealed` makes it visible. If the two minutes end before that, for example because the server has
    crashed, a background task removes the conversation.
    """
    conversation.deleted_at = now() + _HIDDEN


@asynccontextmanager
async def removed_after_failure(database: Database, conversation_id: UUID) -> AsyncIterator[None]:
    """Removes a hidden conversation if the block of the `with` statement raises an error. The caller fills
    the log of the conversation in this block. The error is raised again.
    """
    try:
        yield
    except BaseException:
        # Without a database, its time passes.
        with suppress(*UNAVAILABLE):
            async with database.session() as session:
                await session.execute(
                    update(Conversation).where(*_is_hidden(conversation_id)).values(deleted_at=now())
                )
        raise


async def fill(database: Database, conversation_id: UUID, frames: Sequence[DurableFrame]) -> None:
    """Appends existing events to the log of a new conversation, in one transaction. The conversation is a
    fork or an import that stays hidden from its users until all events are copied.

    frames: the events with their positions, at most PER_TRANSACTION (100). Raises Unavailable `copy_cut_off`
    if the conversation is not hidden. This is the case if more than two minutes have passed since the call
    before, so that the conversation counts as deleted. Raises the same error if the account of the user is
    being deleted. Raises LogFull if the log would be larger than its maximum size. Raises Conflict if the
    positions do not continue the log.
    """
    async with database.session() as session:
        conversation = await _hidden(session, conversation_id)
        appended = await log.append(session, conversation_id, frames)
        add_to_size(conversation, appended)
        await message_texts.add(session, conversation_id, appended.new)
        project(conversation, appended)
        hide(conversation)


async def revealed(session: AsyncSession, conversation_id: UUID) -> Conversation:
    """Makes a hidden conversation visible to its users and returns it. The caller calls this function after
    all events of a fork or an import are copied. The change takes effect when the caller commits.

    Raises Unavailable `copy_cut_off` if more than two minutes have passed since the last call of `fill`, so
    that the conversation counts as deleted. Raises the same error if the account of the user is being
    deleted.
    """
    conversation = await _hidden(session, conversation_id)
    conversation.deleted_at = None
    return conversation


def in_parts(frames: Sequence[DurableFrame]) -> Iterator[Sequence[DurableFrame]]:
    """Splits the events `frames` into parts of at most PER_TRANSACTION (100) events and yields the parts.
    `fill` can write each part to a log in one short transaction.
    """
    for begin in range(0, len(frames), PER_TRANSACTION):
        yield frames[begin : begin + PER_TRANSACTION]


async def _hidden(session: AsyncSession, conversation_id: UUID) -> Conversation:
    query = (
        select(Conversation)
        .join(User, User.id == Conversation.user_id)
        .where(*_is_hidden(conversation_id), User.deleting_at.is_(None))
        .options(undefer(Conversation.folded_state))
        .with_for_update(of=Conversation)
    )
    conversation = await session.scalar(query)
    if conversation is None:
        raise Unavailable(
            "Copying the events took too long between two steps. The copy is removed.",
            code="copy_cut_off",
            fix="Try again.",
        )
    return conversation


def _is_hidden(conversation_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return (Conversation.id == conversation_id, Conversation.deleted_at > now())
