"""MCP tools with which agents in sandboxes read issues and write comments on issues. The tools call the git
host with the user's token.
"""

from collections.abc import Collection
from typing import Annotated
from uuid import uuid4

from pydantic import Field

from agent_runtime.untrusted_text import marked
from app_server.core.config import Config
from app_server.git.providers import GitProvider
from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.schemas import ItemKind
from app_server.mcp.agent_tools import current_agent
from app_server.mcp.pull_requests import Which, hosted_repository
from app_server.mcp.results import IssueText, ToolDone
from app_server.mcp.tool import McpTool
from app_server.triggers.texts import quiet

MAX_COMMENTS = 50
_MARK = f"{MARKER} agent -->"
_WITH_ISSUES = frozenset(
    (GitProvider.GITHUB, GitProvider.GITLAB, GitProvider.AZURE_DEVOPS, GitProvider.FORGEJO)
)
"""The kinds of git hosts that have issues. Bitbucket has none."""

Number = Annotated[int, Field(ge=1)]


async def get_issue(number: Number, repository: Which = None) -> IssueText:
    """Read an issue of the repository of your conversation, with its first 50 comments."""
    hosted = await hosted_repository(current_agent(), repository)
    client = hosted.host.client
    issue = await client.issue(hosted.name, number)
    found = await client.comments(hosted.name, ItemKind.ISSUE, number)
    said = [f"{issue.author}: {issue.title}", issue.body]
    said += [f"Comment by {one.author}:\n{one.body}" for one in found.items[:MAX_COMMENTS]]
    return IssueText(
        number=issue.number,
        url=issue.url,
        is_open=issue.is_open,
        labels=list(issue.labels),
        assignees=list(issue.assignees),
        text=marked("\n\n".join(part for part in said if part), "git_host", uuid4().hex),
        has_more_comments=len(found.items) > MAX_COMMENTS or found.next_page is not None,
    )


async def comment_on_issue(
    number: Number,
    body: Annotated[
        str,
        Field(min_length=1, max_length=60_000, description="Markdown. A mention does not notify the person"),
    ],
    repository: Which = None,
) -> ToolDone:
    """Add a comment to an issue of the repository of your conversation, in the name of the user of this
    conversation.
    """
    hosted = await hosted_repository(current_agent(), repository)
    text = f"{quiet(body)}\n\n{_MARK}"
    await hosted.host.client.add_comment(hosted.name, ItemKind.ISSUE, number, text)
    return ToolDone(done=f"The comment is on issue #{number} of {hosted.name}.")


TOOLS = (
    McpTool("Read an issue", get_issue, reaches_out=True),
    McpTool("Comment on an issue", comment_on_issue, changes=True, reaches_out=True),
)


def are_offered(_config: Config, providers: Collection[GitProvider]) -> bool:
    """Returns whether an agent gets the tools for issues: whether at least one of `providers` has issues.

    `providers`: kinds of git hosts, such as GitHub. A kind is included if a repository of the agent's
    conversation is at such a host and the user has a token for this host.
    """
    return not _WITH_ISSUES.isdisjoint(providers)
