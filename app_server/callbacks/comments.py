"""Writes comments about events of conversations on issues and pull requests, for callbacks of the kind
`comment`. For each event, an issue or pull request gets only one comment.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.callbacks.texts import EventDescription, for_comment
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.git_hosts.connect import GitHosts
from app_server.git_hosts.own_comments import find_marked, mark
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.schemas import ItemKind
from app_server.users.models import User

NO_TARGET: Final = "The conversation has no open pull request, and no issue has started it."


@dataclass(frozen=True)
class CommentTarget:
    """An issue or pull request at a git host on which a comment is written. `origin`: the URL of the git
    host, such as `https://github.com`. `repository`: the full name of the repository, such as `owner/name`.
    `number`: the number of the issue or pull request.
    """

    origin: str
    repository: str
    kind: ItemKind
    number: int


FindCommentTargets = Callable[[AsyncSession, UUID], Awaitable[Sequence[CommentTarget]]]
"""A function that returns the issues and pull requests on which comments about a conversation are written. It
returns an empty sequence if there are none.
"""


@dataclass(frozen=True)
class Commenting:
    """Writes the comments of callbacks at git hosts.

    `http`: the HTTP client for callbacks of administrators of the installation; it can call any address.
    `guarded_http`: the HTTP client for callbacks of other users; it refuses private addresses.
    `find_targets`: a function that returns the issues and pull requests on which comments about a
    conversation are written.
    """

    database: Database
    cipher: Cipher
    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    limits: RateLimits
    tokens: HostTokens
    find_targets: FindCommentTargets

    async def comment(
        self,
        user: User,
        conversation_id: UUID,
        delivery_id: UUID,
        description: EventDescription,
        *,
        is_repeated: bool,
    ) -> int:
        """Writes a comment about an event on each issue and pull request that belongs to the conversation.
        Uses the user's tokens for the git hosts. Returns the number of these issues and pull requests.

        `delivery_id`: the id of the delivery (the run of the callback for this event). Each comment contains
        a hidden mark that is made from this id. `description`: the text and the URL for the comment.

        `is_repeated`: whether an earlier attempt may have written some of the comments. If so, the function
        looks for the mark first, and writes no second comment where it finds the mark.

        Raises Forbidden `no_git_credential` if the user has no token for a git host. Also raises the errors
        of the requests to git hosts.
        """
        async with self.database.read() as session:
            targets = await self.find_targets(session, conversation_id)
        http = self.http if user.administers_installation else self.guarded_http
        hosts = GitHosts(user.id, self.cipher, http, self.limits, self.tokens)
        for target in targets:
            async with self.database.read() as session:
                client = (await hosts.at(session, target.origin)).client
            where = (target.repository, target.kind, target.number)
            # Numbers differ only within one repository.
            of = uuid5(delivery_id, f"{target.origin} {target.repository} {target.kind} {target.number}")
            if is_repeated and await find_marked(client, *where, of) is not None:
                continue
            await client.add_comment(*where, f"{for_comment(description)}\n\n{mark(of)}")
        return len(targets)
