"""Marks the comments that we write at git hosts, so that they are found again and set nothing off."""

from typing import Final
from uuid import UUID

from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.schemas import ItemKind

MARKER: Final = "<!-- slipway:comment"
"""Begins the mark in each comment that we write, by which triggers leave it out. Hosts do not show it."""


def mark(of: UUID) -> str:
    """Returns the invisible mark by which a comment is found again. of: what the comment belongs to, such as
    a conversation.
    """
    return f"{MARKER} {of.hex} -->"


async def find_marked(
    client: GitHostClient, repository: str, kind: ItemKind, number: int, of: UUID
) -> str | None:
    """Returns the id of the comment with this mark. None if there is none on the issue or pull request."""
    wanted, page = mark(of), None
    while True:
        found = await client.comments(repository, kind, number, page=page)
        for one in found.items:
            if wanted in one.body:
                return one.id
        page = found.next_page
        if page is None:
            return None
