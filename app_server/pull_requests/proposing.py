"""Builds a draft of a pull request from the commits and events of a conversation."""

from app_server.conversations.models import Conversation
from app_server.core.database import Database
from app_server.git_hosts.protocol import image_host
from app_server.pull_requests import evidence, screenshots, service
from app_server.pull_requests.repository_of import HostedRepository
from app_server.pull_requests.schemas import ProposedScreenshot, PullRequestProposal
from app_server.pull_requests.working_tree import WorkingTree


def link_to(base_url: str, conversation: Conversation) -> str:
    """Returns the address of the conversation's page for browsers. `base_url`: the address of this server."""
    return f"{base_url}/conversations/{conversation.id.hex}"


async def proposal_of(
    database: Database,
    base_url: str,
    repository: HostedRepository,
    conversation: Conversation,
    tree: WorkingTree,
    template: str,
) -> PullRequestProposal:
    """Returns a draft of a pull request: title, text and branches. Creates nothing at the git host.
    `base_url`: the address of this server, for the link to the conversation. `tree`: the git state of the
    repository in the sandbox, with its branch and its commits. `template`: the repository's template for the
    text; empty if there is none.

    Raises the errors of the git host's client, for example if the host does not reply.
    """
    async with database.read() as session:
        events = await service.latest_events(session, conversation.id)
        shown = [
            ProposedScreenshot(
                id=shot.event_id,
                title=shot.title,
                url=await screenshots.address_of(session, conversation.id, shot),
            )
            for shot in screenshots.screenshots_of(events)
        ]
    client = repository.host.client
    base = repository.branch or (await client.repository(repository.name)).default_branch or "main"
    head = tree.branch if tree.branch and tree.branch != base else f"slipway/{conversation.id.hex[:8]}"
    known = await client.branches(repository.name, head, limit=100)
    link = link_to(base_url, conversation)
    title = tree.subjects[-1] if len(tree.subjects) == 1 else conversation.title or "Changes by an agent"
    return PullRequestProposal(
        repository=repository.name,
        git_provider=repository.host.provider,
        title=" ".join(title.split())[:200],
        body=evidence.body_of(events, tree.statistics, link, template),
        head=head,
        base=base,
        uncommitted_files=tree.uncommitted_files,
        commits=list(tree.subjects),
        is_pushed=any(branch.name == head and branch.commit == tree.head for branch in known.items),
        screenshots=shown,
        takes_screenshots=image_host(client) is not None,
    )
