"""Where a conversation works: the checkouts of its repositories, and the client of their sandbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from app_server.agent_client.client import AgentClient
from app_server.conversations.egress_notices import identity_of
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.more_repositories import KeptRepository
from app_server.core.errors import BadRequest


@dataclass(frozen=True)
class Checkout:
    """A repository of a conversation as it lies in the sandbox.

    directory: an absolute path. identity: the key under which the user's consents are stored. base_commit:
    where the work began; None if the repository was empty.
    """

    directory: str
    identity: str
    base_commit: str | None = None

    @property
    def name(self) -> str:
        """The name of its directory, unique within the conversation."""
        return PurePosixPath(self.directory).name

    def contains(self, path: str) -> bool:
        """`path`: absolute and normalised."""
        return path == self.directory or path.startswith(f"{self.directory}/")


def checkouts_of(conversation: Conversation, directory: str) -> list[Checkout]:
    """Returns the checkouts of a conversation: the first one, then the further ones, which lie beside it, in
    the order in which they were named. `directory`: of the first one.
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


def named(checkouts: Sequence[Checkout], name: str | None) -> Checkout:
    """Returns the checkout with this name; None stands for the first one. `checkouts`: the first one first.

    Raises BadRequest `repository_not_in_conversation`.
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
    """The working directory of a conversation, and a client of the agent server in its sandbox."""

    client: AgentClient
    directory: str
    base_commit: str | None
    is_own: bool
    """Whether the conversation belongs to the person who asks."""
    checkouts: tuple[Checkout, ...] = ()
    """Its repositories, the first one first."""

    def checkout_with(self, path: str) -> Checkout | None:
        """Returns the checkout that contains this absolute, normalised path. None if none does."""
        return next((one for one in self.checkouts if one.contains(path)), None)
