"""The directories in which a conversation works, which are the checkouts of its repositories, and a client of
the agent server in its sandbox.
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
    """A repository of a conversation that is checked out in the sandbox, or one folder of this repository.

    `directory`: an absolute path. `identity`: the key under which the user's decisions about the repository's
    hooks and scripts are stored. `base_commit`: the commit where the agent's work began; None if the
    repository was empty. `folder`: the path of `directory` relative to the root of the repository; empty if
    `directory` is the root.
    """

    directory: str
    identity: str
    base_commit: str | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """Returns the name of the repository's directory, followed by the folder. This name is unique within
        the conversation.
        """
        depth = len(PurePosixPath(self.folder).parts) + 1
        return "/".join(PurePosixPath(self.directory).parts[-depth:])

    def contains(self, path: str) -> bool:
        """Returns whether `path` is the directory of this checkout or is inside that directory. `path`:
        absolute and normalised.
        """
        return path == self.directory or path.startswith(f"{self.directory}/")


def checkouts_of(conversation: Conversation, directory: str) -> list[Checkout]:
    """Returns the checkouts of a conversation: the first repository, then the further repositories in the
    order in which the user named them. `directory`: the directory of the first repository. The directories of
    the further repositories are beside this directory.
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
    """Returns the folders whose hooks, setup scripts, MCP servers and other project executables the
    conversation can use. They are the agent's working folder, the folders above it up to the root of its
    repository, then the further repositories.

    `checkouts`: all checkouts, the first repository first. `directory`: see Conversation.selected_directory.
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
    """Returns the checkout with this name. `checkouts`: all checkouts, the first repository first. `name`:
    None means the first checkout.

    Raises BadRequest `repository_not_in_conversation` if no checkout has the name.
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
    """The directories in which a conversation works, and a client of the agent server in its sandbox."""

    client: AgentClient
    directory: str
    base_commit: str | None
    is_own: bool
    """Whether the conversation belongs to the person who asks."""
    checkouts: tuple[Checkout, ...] = ()
    """Its repositories, the first one first."""
    projects: tuple[Checkout, ...] = ()
    """Where its offers come from, see projects_of. The agent works in the first one."""

    def checkout_with(self, path: str) -> Checkout | None:
        """Returns the checkout that contains this path. Returns None if no checkout contains it. `path`:
        absolute and normalised.
        """
        return next((one for one in self.checkouts if one.contains(path)), None)
