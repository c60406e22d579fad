"""Limits how often people open read-only links to conversations, and ends the live streams of a link when the
link is no longer valid.
"""

import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from uuid import UUID

from app_server.conversations.sharing.link_models import ConversationLink
from app_server.conversations.sharing.link_service import valid_links
from app_server.core.cancellable_blocks import HeldBlocks
from app_server.core.database import Database
from app_server.core.errors import TooManyRequests
from app_server.core.server_objects import from_server

MAX_STREAMS = 50
"""Maximum number of open streams of one link at this server."""

OPENINGS_PER_MINUTE = 60
"""How many times clients with one IP address may open read-only links in a minute."""

_MAX_ADDRESSES = 10_000
_BATCH = 500


class LinkEnded(Exception):
    """The error that ends a live stream of a read-only link, because the link has expired or was removed."""


class LinkReaders:
    """The open live streams of read-only links. One SQL statement checks for all streams whether their links
    are still valid.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: HeldBlocks[UUID] = HeldBlocks()
        self._openings: OrderedDict[str, deque[float]] = OrderedDict()

    def admit(self, address: str | None) -> None:
        """Counts one opening of a read-only link from this IP address. Raises TooManyRequests
        `too_many_openings` with the header `Retry-After` if links are opened too often from this address. All
        clients whose address is None are counted together.
        """
        moment = time.monotonic()
        known = self._openings.setdefault(address or "", deque())
        self._openings.move_to_end(address or "")
        if len(self._openings) > _MAX_ADDRESSES:
            self._openings.popitem(last=False)
        while known and moment - known[0] > 60:
            known.popleft()
        if len(known) >= OPENINGS_PER_MINUTE:
            wait = int(60 - (moment - known[0])) + 1
            raise TooManyRequests(
                f"Links were opened {OPENINGS_PER_MINUTE} times within a minute from this address.",
                code="too_many_openings",
                fix=f"Try again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )
        known.append(moment)

    def has_free_stream(self, link: ConversationLink) -> bool:
        return self._held.count(link.id) < MAX_STREAMS

    @asynccontextmanager
    async def hold(self, link: ConversationLink) -> AsyncIterator[None]:
        """Watches the read-only link during the block of a `with` statement. The block sends a live stream to
        a reader of the link. If the link becomes invalid, the block is cancelled and LinkEnded is raised.
        """
        async with self._held.until_ended(link.id, LinkEnded):
            yield

    async def check(self) -> None:
        """Ends the live streams of read-only links that are no longer valid."""
        held = list(self._held.causes)
        for start in range(0, len(held), _BATCH):
            batch = held[start : start + _BATCH]
            query = valid_links().with_only_columns(ConversationLink.id)
            async with self._database.brief_read() as session:
                valid = set(await session.scalars(query.where(ConversationLink.id.in_(batch))))
            for id_ in set(batch) - valid:
                self._held.end(id_)


ServerLinkReaders = Annotated[LinkReaders, from_server("link_readers")]
