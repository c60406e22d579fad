"""MCP tools for pull requests. The tools for users' programs call the REST API. The tools for agents call the
git host with the user's token.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from app_server.access.audit_trail import trail_of_sandbox
from app_server.access.permissions import Permission
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import GitHosts
from app_server.git_hosts.schemas import NewPullRequest
from app_server.mcp import agent_tools, caller
from app_server.mcp.agent_tools import CallingAgent, current_agent
from app_server.mcp.results import OpenedPullRequestInfo, PullRequestFeedback, PullRequestLines
from app_server.mcp.tool import McpTool
from app_server.pull_requests import service
from app_server.pull_requests.opening import open_pull_request
from app_server.pull_requests.repository_of import HostedRepository, repository_of
from app_server.pull_requests.schemas import BranchName as Branch
from app_server.pull_requests.schemas import Names
from app_server.users.outgoing import http_of

Title = Annotated[str, Field(min_length=1, max_length=400)]
Body = Annotated[str, Field(max_length=60_000)]
Which = Annotated[
    str | None,
    Field(
        max_length=2000, description="The directory of the repository, if there are several; none: the first"
    ),
]

HostsWhich = Annotated[
    str | None,
    Field(
        max_length=2000,
        description="The directory of the repository, if there are several; none: the first one at this kind "
        "of git host",
    ),
]

_CREATE = {
    GitProvider.GITHUB: "create_pr",
    GitProvider.GITLAB: "create_mr",
    GitProvider.BITBUCKET: "create_bitbucket_pr",
    GitProvider.BITBUCKET_DATA_CENTER: "create_bitbucket_data_center_pr",
    GitProvider.AZURE_DEVOPS: "create_azure_devops_pr",
    GitProvider.FORGEJO: "create_forgejo_pr",
}
"""The name of the MCP tool that opens a pull request, for each kind of git host. OpenHands uses the same
names.
"""


async def list_pull_requests(conversation_id: UUID) -> PullRequestLines:
    """List the pull requests of a conversation with their checks and reviews."""
    return PullRequestLines(pull_requests=await caller.get(_root(conversation_id)))


async def create_pull_request(
    conversation_id: UUID,
    title: Annotated[Title | None, Field(description="none: made from the work")] = None,
    body: Annotated[Body | None, Field(description="none: made from the work")] = None,
    draft: bool = True,
) -> OpenedPullRequestInfo:
    """Commit and push the changes in the repository of a conversation, and open a pull request with the
    user's token.
    """
    proposal = await caller.get(f"{_root(conversation_id)}/proposal")
    asked = {
        "title": title or proposal["title"],
        "body": proposal["body"] if body is None else body,
        "head": proposal["head"],
        "base": proposal["base"],
        "draft": draft,
    }
    opened = await caller.post(_root(conversation_id), asked)
    pull = opened["pull_request"]
    return OpenedPullRequestInfo(
        number=pull["number"], url=pull["url"], is_new=opened["is_new"], left_out=opened["left_out"]
    )


def _creating(name: str, host: GitProvider) -> Callable[..., Awaitable[Any]]:
    async def create(
        title: Title,
        body: Annotated[Body, Field(description="What was changed and why, and how it was tested")],
        source_branch: Annotated[Branch, Field(description="The branch with the changes, pushed before")],
        target_branch: Annotated[Branch | None, Field(description="none: where the work began")] = None,
        draft: bool = True,
        labels: Names | None = None,
        repository: HostsWhich = None,
    ) -> OpenedPullRequestInfo:
        """Open a pull request for a branch. Push the branch with git before you call this tool. If the
        repository has a template for pull requests, write the body from the template.
        """
        agent = current_agent()
        hosted = await hosted_repository(agent, repository, host)
        base = target_branch or hosted.branch
        if base is None:
            base = (await hosted.host.client.repository(hosted.name)).default_branch or "main"
        state = caller.current_request().state
        link = f"{state.config.base_url}/conversations/{agent.conversation.id.hex}"
        new = NewPullRequest(
            title=title,
            body=f"{body}\n\n[The conversation with each step]({link})",
            head=source_branch,
            base=base,
            is_draft=draft,
            labels=tuple(labels or ()),
        )
        return await _open(state.database, agent, hosted, new)

    create.__name__ = name
    return create


async def get_pull_request_feedback(
    number: Annotated[int, Field(ge=1)], repository: Which = None
) -> PullRequestFeedback:
    """Read the state, the checks and the unresolved review comments of a pull request."""
    hosted = await hosted_repository(current_agent(), repository)
    client = hosted.host.client
    found = await client.pull_request(hosted.name, number)
    checks = await client.checks(hosted.name, found)
    threads = await client.review_threads(hosted.name, number)
    return PullRequestFeedback(
        pull_request=found,
        checks=list(checks),
        unresolved_threads=[thread for thread in threads if not thread.is_resolved],
    )


async def _open(
    database: Database, agent: CallingAgent, repository: HostedRepository, new: NewPullRequest
) -> OpenedPullRequestInfo:
    async with database.read() as session:
        await service.check_new(session, agent.user.id, repository, new)
        trail = await trail_of_sandbox(session, agent.user.id, agent.sandbox.id)
    row, opened = await open_pull_request(database, agent.conversation, repository, new, trail)
    return OpenedPullRequestInfo(
        number=row.number, url=row.url, is_new=opened.is_new, left_out=list(opened.left_out)
    )


async def hosted_repository(
    agent: CallingAgent, wanted: str | None, at: GitProvider | None = None
) -> HostedRepository:
    """Returns a repository of the agent's conversation, together with the client for its git host.

    `wanted`: the directory, name or URL of the repository; None if the caller names no repository. `at`: the
    preferred kind of git host, such as GitHub; it is used only if `wanted` is None. Then the first repository
    at a host of this kind for which the user has a token is returned. If there is no such repository, or if
    `at` is None, the first repository of the conversation is returned.

    Raises BadRequest `repository_not_in_conversation` if `wanted` matches no repository of the conversation.
    Raises Conflict `repository_has_no_host` if the conversation has no repository, or if the repository is
    not at a git host. Raises Forbidden `no_git_credential` if the user has no token for the git host.
    """
    request = caller.current_request()
    state = request.state
    http = http_of(request, agent.user)
    hosts = GitHosts(agent.user.id, state.cipher, http, state.git_rate_limits, state.git_tokens)
    async with state.database.read() as session:
        return await repository_of(session, hosts, agent.conversation, wanted, at)


def _root(conversation_id: UUID) -> str:
    return f"/api/v1/app-conversations/{conversation_id.hex}/pull-requests"


TOOLS = (
    McpTool("List pull requests", list_pull_requests, reaches_out=True),
    McpTool(
        "Open a pull request",
        create_pull_request,
        permission=Permission.WORK,
        changes=True,
        is_repeatable=True,
        reaches_out=True,
    ),
)


def _at(host: GitProvider) -> Callable[[Config, Collection[GitProvider]], bool]:
    return lambda _, providers: host in providers


for _host, _name in _CREATE.items():
    agent_tools.add(
        McpTool(
            "Open a pull request", _creating(_name, _host), changes=True, is_repeatable=True, reaches_out=True
        ),
        _at(_host),
    )
agent_tools.add(
    McpTool("Checks and comments of a pull request", get_pull_request_feedback, reaches_out=True),
    lambda _, providers: bool(providers),
)
