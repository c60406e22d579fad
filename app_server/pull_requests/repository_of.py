"""Finds the repository at a git host that a conversation works on."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.core.errors import Conflict
from app_server.git.address import parse_address
from app_server.git_hosts.connect import ConnectedHost, GitHosts
from app_server.git_hosts.repository_names import name_in


@dataclass(frozen=True)
class HostedRepository:
    """A repository and the host that has it. `name`: its full name at the host."""

    host: ConnectedHost
    name: str


async def repository_of(
    session: AsyncSession, hosts: GitHosts, conversation: Conversation
) -> HostedRepository:
    """Returns the conversation's repository at its host.

    Raises Conflict `repository_has_no_host`, Forbidden `no_git_credential`.
    """
    if conversation.selected_repository is None:
        raise _no_host("The conversation has no repository.")
    address = parse_address(conversation.selected_repository, conversation.git_provider)
    if address.origin is None or address.web_url is None:
        raise _no_host("The conversation's repository is on this server, not at a git host.")
    host = await hosts.at(session, address.origin)
    path = address.web_url.removeprefix(address.origin).strip("/").removesuffix(".git")
    return HostedRepository(host, name_in(host.provider, path))


def _no_host(why: str) -> Conflict:
    return Conflict(why, code="repository_has_no_host", fix="Pull requests need a repository at a git host.")
