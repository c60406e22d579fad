"""Gives the egress proxy, which checks the network requests of sandboxes, access to conversations. Finds the
repositories of a sandbox's conversations, because some network rules apply only to one repository. Tells the
clients of the conversations when a network request was refused.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.by_sandbox import residents_of
from app_server.conversations.models import Conversation
from app_server.core.database import Database
from app_server.core.pubsub import Frame, PubSub
from app_server.git.address import InvalidRepository, parse_address

REFUSED = Frame('{"type":"network"}')
"""The message that tells clients that the egress proxy has refused a new network request. Clients then load
the list of refused hosts.
"""


async def repositories_of(session: AsyncSession, sandbox_id: UUID) -> Sequence[str | None]:
    """Returns one entry for each conversation in the sandbox: the identity of its first repository, such as
    `github.com/owner/name`, or None for a conversation without a repository.
    """
    return [identity_of(each) for each in await residents_of(session, sandbox_id)]


def identity_of(conversation: Conversation) -> str | None:
    """Returns the identity of the repository with which the conversation began, such as
    `github.com/owner/name`.

    Returns None if the conversation began without a repository. Also returns None if the repository is a
    directory on the server's machine that no longer exists.
    """
    if conversation.first_repository is not None:
        return conversation.first_repository or None
    if conversation.selected_repository is None:
        return None
    try:
        return parse_address(conversation.selected_repository, conversation.git_provider).identity
    except InvalidRepository:
        return None  # the repository was on this machine and is gone


async def announce_refusal(database: Database, pubsub: PubSub, sandbox_id: UUID) -> None:
    """Tells clients that a network request of this sandbox was refused. The clients then load the list of
    refused hosts again.

    The server does not know which conversation sent the request. So it publishes the message REFUSED for all
    conversations of the sandbox.
    """
    async with database.read() as session:
        residents = [each.id for each in await residents_of(session, sandbox_id)]
    for conversation_id in residents:
        pubsub.publish(conversation_id, [REFUSED])
