"""Finds the conversations that work in a sandbox. Some parts of the app server, such as the egress proxy and
the LLM gateway, know only from which sandbox a request comes. They use these functions to find its
conversations.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app_server.conversations.models import IMPORTED, Conversation
from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.egress.attribution import AttributedConversation, Attribution
from app_server.llm_gateway.caller import Caller
from app_server.llm_gateway.program_routes import Program
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User


def without_sandbox(conversation: Conversation) -> Conflict:
    """Returns the error to raise if a request needs the sandbox of a conversation that has no sandbox. A
    conversation has no sandbox if it was imported or if its sandbox was deleted; the error says which one is
    true.
    """
    was_imported = conversation.trigger == IMPORTED
    why = "This conversation was imported" if was_imported else "The sandbox of this conversation was deleted"
    return Conflict(
        f"{why}: it can be read, but no agent works on it.",
        code="conversation_imported" if was_imported else "sandbox_deleted",
        fix="Start a new conversation.",
    )


async def residents_of(session: AsyncSession, sandbox_id: UUID) -> Sequence[Conversation]:
    """Returns the conversations that work in the sandbox and are not deleted, oldest first."""
    query = select(Conversation).where(
        Conversation.sandbox_id == sandbox_id, Conversation.deleted_at.is_(None)
    )
    return (await session.scalars(query.order_by(Conversation.created_at, Conversation.id))).all()


async def owner_of_conversation(session: AsyncSession, conversation_id: UUID) -> UUID | None:
    """Returns the id of the user who owns the conversation. Returns None if there is no such conversation."""
    conversation = await session.get(Conversation, conversation_id)
    return None if conversation is None or conversation.deleted_at else conversation.user_id


async def attribution_of(session: AsyncSession, user_id: UUID, sandbox_ids: Collection[UUID]) -> Attribution:
    """Returns the user's conversations that work in these sandboxes. The keys of the returned dict are the
    ids of the sandboxes.

    The egress log lists the network requests of sandboxes. The server does not know which conversation in a
    sandbox sent a request. So the log uses this dict to show all conversations that may have sent it.
    """
    query = (
        select(Conversation.sandbox_id, Conversation.id, Conversation.title, Conversation.created_at)
        .where(
            Conversation.user_id == user_id,
            Conversation.sandbox_id.in_(set(sandbox_ids)),
            Conversation.deleted_at.is_(None),
        )
        .order_by(Conversation.created_at, Conversation.id)
    )
    found: dict[UUID, list[AttributedConversation]] = defaultdict(list)
    for sandbox_id, conversation_id, title, since in await session.execute(query):
        found[sandbox_id].append(AttributedConversation(conversation_id, title, since))
    return found


async def llm_caller_of(session: AsyncSession, sandbox: Sandbox, conversation_id: UUID) -> Caller | None:
    """Returns the data of a conversation in the sandbox that the app server needs when the conversation calls
    a model: its owner, its directory and the number of its events. The data also say whether it is the only
    conversation in the sandbox.

    Returns None if the conversation does not work in this sandbox. Runs only one SQL query, because the
    function is called for each model call.
    """
    others = aliased(Conversation)
    shares = exists().where(
        others.sandbox_id == sandbox.id, others.id != conversation_id, others.deleted_at.is_(None)
    )
    query = (
        select(User, Conversation.working_dir, shares, Conversation.last_seq)
        .join(Conversation, Conversation.user_id == User.id)
        .where(*_in(sandbox, conversation_id))
    )
    row = (await session.execute(query)).one_or_none()
    if row is None:
        return None
    return Caller(user=row[0], working_dir=row[1], is_alone=not row[2], events=row[3])


async def program_of(session: AsyncSession, sandbox: Sandbox, key_hash: str) -> Program | None:
    """Finds the conversation in the sandbox whose model key has the hash `key_hash`. With a model key, a
    program in the sandbox can call the model of the conversation.

    Returns the id of the conversation, the name of its model profile (a saved model with its options), and
    the data of `llm_caller_of`. Returns None if no conversation in the sandbox has such a key, if the key has
    expired, or if the conversation's owner is disabled.
    """
    query = (
        select(Conversation.id, Conversation.llm_profile)
        .join(User, User.id == Conversation.user_id)
        .where(
            Conversation.model_key_hash == key_hash,
            Conversation.model_key_until > now(),
            Conversation.sandbox_id == sandbox.id,
            User.disabled_at.is_(None),
        )
    )
    found = (await session.execute(query)).one_or_none()
    caller = found and await llm_caller_of(session, sandbox, found[0])
    return Program(found[0], found[1], caller) if found and caller else None


async def folder_of(session: AsyncSession, sandbox: Sandbox, conversation_id: UUID) -> str | None:
    """Returns the path of the conversation's working directory in the sandbox. Returns None if the
    conversation has no directory yet, because its repository is still to be fetched. Also returns None if the
    conversation does not work in this sandbox.
    """
    query = select(Conversation.working_dir).where(*_in(sandbox, conversation_id))
    found: str | None = await session.scalar(query)
    return found


async def works_in(session: AsyncSession, sandbox_id: UUID, conversation_id: UUID) -> bool:
    """Returns whether this sandbox is the sandbox of the conversation and the conversation is not deleted."""
    query = select(Conversation.id).where(
        Conversation.id == conversation_id,
        Conversation.sandbox_id == sandbox_id,
        Conversation.deleted_at.is_(None),
    )
    return await session.scalar(query) is not None


def _in(sandbox: Sandbox, conversation_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return (
        Conversation.id == conversation_id,
        Conversation.sandbox_id == sandbox.id,
        Conversation.user_id == sandbox.user_id,
        Conversation.deleted_at.is_(None),
    )
