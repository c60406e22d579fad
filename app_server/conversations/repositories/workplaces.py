"""The directories in which a conversation works: the checkouts of its repositories. A workplace combines the
checkouts with an API client for the agent server in the sandbox.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from app_server.agent_client.client import AgentClient
from app_server.conversations.egress_notices import identity_of
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.conversations.repositories.work_directory import levels_of
from app_server.core.errors import BadRequest


@dataclass(frozen=True)
class Checkout:
    """A directory in the sandbox with a checked-out repository of a conversation, or one folder of this
    repository.

    directory: the absolute path. identity: the identity of the repository (such as `github.com/owner/name`),
    followed by `/` and `folder` if `folder` is not empty. Under this identity, the database stores which
    programs of the repository the user has allowed or refused.

    base_commit: the commit at which the agent's work began; None if the repository was empty. folder: the
    path of `directory` relative to the root of the repository; empty for the root.
    """

    directory: str
    identity: str
    base_commit: str | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """Returns the name of the checkout (the checked-out repository) within the conversation: the name of
        the repository's directory, followed by the folder. Each checkout of a conversation has a different
        name.
        """
        depth = len(PurePosixPath(self.folder).parts) + 1
        return "/".join(PurePosixPath(self.directory).parts[-depth:])

    def contains(self, path: str) -> bool:
        """Returns whether `path` is the directory of this checkout or is inside it. `path`: absolute and
        normalised.
        """
        return path == self.directory or path.startswith(f"{self.directory}/")


def checkouts_of(conversation: Conversation, directory: str) -> list[Checkout]:
    """Returns the checkouts (directories in the sandbox) of a conversation's repositories: the first
    repository, then the further repositories in the order in which the user named them.

    `directory`: the directory of the first repository. The further repositories have directories beside this
    one.
    """
    identity = identity_of(conversation) or f"conversation/{conversation.id.hex}"
    parent = PurePosixPath(directory).parent
    return [
        Checkout(directory, identity, conversation.base_commit),
        *(
            Checkout(str(parent / one.directory), one.address.identity, one.base_commit)
            for one in KeptRepository.all_of(conversation.more_repositories)
        ),
    ]


def projects_of(checkouts: Sequence[Checkout], directory: str | None) -> list[Checkout]:
    """Returns the folders in which Slipway looks for executables of the project (hooks, setup scripts, MCP
    servers). The agent's working folder comes first, then the folders above it up to the root of its
    repository. Last come the conversation's further repositories (all but the first one).

    `checkouts`: the checkouts of the conversation, beginning with its first repository. `directory`: the
    folder in which the agent works, relative to the root of the first repository; None means the root.
    """
    first, *further = checkouts
    around = (
        replace(
            first,
            directory=f"{first.directory}/{level}",
            identity=f"{first.identity}/{level}",
            folder=level,
        )
        if level
        else first
        for level in levels_of(directory)
    )
    return [*around, *further]


def named(checkouts: Sequence[Checkout], name: str | None) -> Checkout:
    """Returns the checkout (a repository's directory in the sandbox) with this name. `name`: None means the
    first checkout. `checkouts`: the checkouts of the conversation, beginning with its first repository.

    Raises BadRequest `repository_not_in_conversation` if no checkout has this name.
    """
    if name is None:
        return checkouts[0]
    for one in checkouts:
        if one.name == name:
            return one
    raise BadRequest(
        f"The conversation has no repository {name}.",
        code="repository_not_in_conversation",
        fix=f"Name one of these directories: {', '.join(one.name for one in checkouts)}.",
    )


@dataclass(frozen=True)
class Workplace:
    """The directories in which one conversation works, together with an API client for the agent server in
    its sandbox. The app server uses a workplace to read files and run commands of the conversation.
    """

    client: AgentClient
    directory: str
    base_commit: str | None
    is_own: bool
    """Whether the conversation belongs to the current user."""
    checkouts: tuple[Checkout, ...] = ()
    """The checkouts of the conversation's repositories, that of the first repository first."""
    projects: tuple[Checkout, ...] = ()
    """The folders whose executables the conversation can use, see projects_of. The agent works in the first
    one.
    """

    def checkout_with(self, path: str) -> Checkout | None:
        """Returns the checkout (a repository's directory in the sandbox) that contains this path. Returns
        None if no checkout contains it. `path`: absolute and normalised.
        """
        return next((one for one in self.checkouts if one.contains(path)), None)
