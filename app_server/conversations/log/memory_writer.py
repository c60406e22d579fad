"""Saves data from new events of a conversation for later conversations: memory notes (texts about the
repository that the agent proposes to remember), and approvals of MCP tools by the user.

The caller stores the events in the same transaction, so that no event is processed twice.
"""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.git.address import parse_address
from app_server.mcp_approvals import service as mcp_approvals
from app_server.mcp_servers.in_effect import servers_for
from app_server.memory.proposals import propose
from app_server.memory.written_notes import succeeded, written_by
from app_server.trust_grants.models import Decision
from app_server.trust_grants.service import of_repository


async def take_over_proposals(
    session: AsyncSession, conversation: Conversation, frames: Sequence[DurableFrame]
) -> None:
    """Saves the memory notes (texts for later conversations) about the repository that the agent proposed in
    these events. Saves nothing if the conversation has no repository.

    frames: new events that are already appended to the log.
    """
    calls = [call_id for frame in frames if (call_id := succeeded(frame.event)) is not None]
    if not calls or conversation.selected_repository is None:
        return
    address = parse_address(conversation.selected_repository, conversation.git_provider)
    for call_id in calls:
        call = await log.find(session, conversation.id, call_id)
        written = written_by(call) if call is not None else None
        if written is not None:
            await propose(session, conversation.user_id, address.identity, conversation.id, written)


async def take_over_approvals(
    session: AsyncSession, conversation: Conversation, frames: Sequence[DurableFrame]
) -> None:
    """Saves the definitions of MCP tools that the user has approved in this conversation. In later
    conversations about the same repository, the user is then asked only if an MCP server has changed the
    definition of a tool.

    frames: new events of the conversation, already appended to the log. Some of them may contain approved
    definitions.
    """
    approvals = [one for frame in frames if (one := mcp_approvals.approved_by(frame.event)) is not None]
    if not approvals:
        return
    repository = repository_identity(conversation.selected_repository, conversation.git_provider)
    servers = {server.name for server in await servers_for(session, conversation.user_id)}
    further = (one.address.identity for one in KeptRepository.all_of(conversation.more_repositories))
    for identity in (repository, *further):
        servers |= {
            consent.name
            for consent in await of_repository(session, conversation.user_id, identity)
            if consent.kind == "mcp_server" and consent.decision is Decision.ALLOWED
        }
    # In their order: an answer is about the change from one to the next.
    for approved in approvals:
        await mcp_approvals.take_over(
            session,
            conversation.user_id,
            repository,
            conversation_id=conversation.id,
            servers=servers,
            approved=approved,
        )


def repository_identity(repository: str | None, provider: str | None) -> str:
    """Returns a text that identifies the repository. The text is the same for all conversations about this
    repository. It is empty if there is no repository. `repository`: a URL, a path, or a name such as
    `owner/name`. `provider`: the kind of git host for a name without a host, such as `gitlab`; None means
    GitHub.
    """
    return parse_address(repository, provider).identity if repository is not None else ""
