"""Finds the git host and the full name of a repository that a conversation works on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.repositories.workplaces import Workplace
from app_server.core.errors import BadRequest, Conflict
from app_server.git.address import Address, parse_address
from app_server.git.credentials import provider_with_token
from app_server.git.providers import GitProvider
from app_server.git_hosts.connect import ConnectedHost, GitHosts
from app_server.git_hosts.repository_names import name_in


@dataclass(frozen=True)
class HostedRepository:
    """A repository of a conversation and its git host. `name`: the full name of the repository at the host.
    `branch`: the branch from which the work on this repository began; None for the default branch.

    `directory`: the name of the repository's directory in the sandbox. `base_commit`: the commit of this
    repository at which the conversation started. Both are None for the first repository of the conversation,
    because `own_workplace` gets them from the conversation's Workplace.
    """

    host: ConnectedHost
    name: str
    branch: str | None = None
    directory: str | None = None
    base_commit: str | None = None

    def own_workplace(self, workplace: Workplace) -> Workplace:
        """Returns the Workplace of this repository: the object that runs commands in the repository's
        directory in the sandbox. `workplace`: the Workplace of the conversation's first repository.
        """
        if self.directory is None:
            return workplace
        directory = str(PurePosixPath(workplace.directory).parent / self.directory)
        return replace(workplace, directory=directory, base_commit=self.base_commit)


async def repository_of(
    session: AsyncSession,
    hosts: GitHosts,
    conversation: Conversation,
    wanted: str | None = None,
    at: GitProvider | None = None,
) -> HostedRepository:
    """Returns one of the conversation's repositories, together with a client of the git host where it is.

    `wanted`: the directory, name or URL of the repository; None if the caller names no repository. `at`: the
    kind of git host that is preferred if `wanted` is None, such as GitHub. In this case, returns the first
    repository at a host of this kind for which the user has a token. If there is none, or if `at` is None
    too, returns the first repository of the conversation.

    Raises Conflict `repository_has_no_host` if the conversation has no repository, or if the repository is
    not at a git host. Raises Forbidden `no_git_credential` if the user has no token for the host. Raises
    BadRequest `repository_not_in_conversation` if `wanted` matches no repository of the conversation.
    """
    if conversation.selected_repository is None:
        raise _no_host("The conversation has no repository.")
    first = parse_address(conversation.selected_repository, conversation.git_provider)
    more = KeptRepository.all_of(conversation.more_repositories)
    if wanted is None and at is not None:
        wanted = await _first_at(session, conversation, at, [first, *(one.address for one in more)])
    if wanted is None or _is_meant(wanted, first, first.name):
        return await _hosted(session, hosts, first, conversation.selected_branch)
    for one in more:
        if _is_meant(wanted, one.address, one.directory):
            found = await _hosted(session, hosts, one.address, one.branch)
            return replace(found, directory=one.directory, base_commit=one.base_commit)
    known = ", ".join([first.name, *(one.directory for one in more)])
    raise BadRequest(
        f"The conversation has no repository {wanted}.",
        code="repository_not_in_conversation",
        fix=f"Name one of these directories: {known}.",
    )


async def _first_at(
    session: AsyncSession, conversation: Conversation, host: GitProvider, addresses: Sequence[Address]
) -> str | None:
    """Returns the host and path, such as github.com/owner/name, of the first repository in `addresses` that
    is at a git host of the kind `host`. Ignores git hosts for which the user has no token. Returns None if
    there is no such repository.
    """
    for address in addresses:
        if await provider_with_token(session, conversation.user_id, address.public_url, None) is host:
            return address.identity
    return None


def _is_meant(wanted: str, address: Address, directory: str) -> bool:
    named = wanted.strip().rstrip("/").removesuffix(".git").removeprefix("../")
    path = address.identity.partition("/")[2]
    return named in {directory, path, address.identity, address.public_url.rstrip("/").removesuffix(".git")}


async def _hosted(
    session: AsyncSession, hosts: GitHosts, address: Address, branch: str | None
) -> HostedRepository:
    if address.origin is None or address.web_url is None:
        raise _no_host("The conversation's repository is on this server, not at a git host.")
    host = await hosts.at(session, address.origin)
    path = address.web_url.removeprefix(address.origin).strip("/").removesuffix(".git")
    return HostedRepository(host, name_in(host.provider, path), branch)


def _no_host(why: str) -> Conflict:
    return Conflict(why, code="repository_has_no_host", fix="Pull requests need a repository at a git host.")
