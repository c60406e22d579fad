"""Opens a pull request with the token of the conversation's owner. The routes for users and the MCP tools for
agents use this module.
"""

from app_server.access.audit_trail import AuditTrail
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.models import Conversation
from app_server.core.database import Database
from app_server.git_hosts.schemas import NewPullRequest, OpenedPullRequest
from app_server.pull_requests import service
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.repository_of import HostedRepository


async def open_pull_request(
    database: Database,
    conversation: Conversation,
    repository: HostedRepository,
    new: NewPullRequest,
    trail: AuditTrail,
) -> tuple[ConversationPullRequest, OpenedPullRequest]:
    """Opens the pull request at the git host, stores it with the conversation and records it in the audit
    log. `repository`: the repository at the git host, with the client for this host. `new`: the data of the
    pull request, such as its title, its text and its branch. The branch must be at the host already.

    Returns the stored row and the reply of the host. Raises the errors of the git host's client, for example
    if the host refuses the request or does not reply.
    """
    opened = await repository.host.client.create_pull_request(repository.name, new)
    async with database.session() as session:
        # Locked: two calls at once keep one row, and both find the other's number.
        locked = await session.get_one(Conversation, conversation.id, with_for_update=True)
        row = await service.keep(session, locked, repository, opened.pull_request)
        name = f"{repository.host.origin.removeprefix('https://')}/{repository.name}"
        trail.record(
            session,
            AuditAction.PULL_REQUEST_OPENED,
            (AuditTarget.REPOSITORY, name),
            number=row.number,
            head=row.head,
            base=row.base,
        )
    return row, opened
