"""Marks the comments that Slipway writes at git hosts with an invisible text. With this text, Slipway later
finds a comment again, for example to edit it. Slipway writes comments with the token of a user, so the author
does not show who wrote them. Triggers (rules that start a conversation after an event) ignore comments with
this text, so that Slipway does not react to its own comments.
"""

from typing import Final
from uuid import UUID

from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import ItemKind

MARKER: Final = "<!-- slipway:comment"
"""The beginning of the invisible text in each comment that Slipway writes. Triggers ignore comments with this
text.
"""


def mark(of: UUID) -> str:
    """Returns the invisible text that Slipway puts into a comment at a git host, so that it can find the
    comment again. `of`: the id of the object about which Slipway writes the comment, such as a conversation.
    """
    return f"{MARKER} {of.hex} -->"


async def find_marked(
    client: GitHostClient, repository: str, kind: ItemKind, number: int, of: UUID
) -> str | None:
    """Returns the id of the comment that Slipway has written for an object, such as a conversation. Slipway
    finds the comment by its invisible text, which contains the id of the object (`of`). Returns None if no
    comment on the issue or pull request contains this text.
    """
    wanted, page = mark(of), None
    while True:
        found = await client.comments(repository, kind, number, page=page)
        for one in found.items:
            if wanted in one.body:
                return one.id
        page = found.next_page
        if page is None:
            return None
