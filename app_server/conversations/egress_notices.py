"""What the way out has to know of conversations, and what these are told of it."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.in_sandbox import residents_of
from app_server.conversations.models import Conversation
from app_server.core.database import Database
from app_server.core.pubsub import Frame, PubSub
from app_server.git.address import InvalidRepository, parse_address

REFUSED = Frame('{"type":"network"}')
"""Something new was refused. Clients that watch then ask what it was."""


async def repositories_of(session: AsyncSession, sandbox_id: UUID) -> Sequence[str | None]:
    """What each conversation of a sandbox works on, by its identity."""
    return [identity_of(each) for each in await residents_of(session, sandbox_id)]


def identity_of(conversation: Conversation) -> str | None:
    """Of what it works on; None without a repository."""
    if conversation.selected_repository is None:
        return None
    try:
        return parse_address(conversation.selected_repository, conversation.git_provider).identity
    except InvalidRepository:
        return None  # it lay on this machine, and is gone


async def announce_refusal(database: Database, pubsub: PubSub, sandbox_id: UUID) -> None:
    """Sent to all conversations of the sandbox: which of them caused it is not known."""
    async with database.read() as session:
        residents = [each.id for each in await residents_of(session, sandbox_id)]
    for conversation_id in residents:
        pubsub.publish(conversation_id, [REFUSED])
