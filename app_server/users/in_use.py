"""Credentials behind what stays open: streams and links end once their key or session is gone."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Self
from uuid import UUID

from sqlalchemy import select

from app_server.database import Database, now
from app_server.users.models import ApiKey, WebSession

CHECK_SECONDS = 1.0

# Well below the number of variables that a statement may have.
_BATCH = 500


@dataclass(frozen=True)
class Credential:
    """An API key or a browser session, by the id of its row."""

    kind: Literal["key", "session"]
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id.hex}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError."""
        kind, _, id_ = text.partition(":")
        if kind not in {"key", "session"}:
            raise ValueError(f"{kind!r} is no kind of credential")
        return cls("key" if kind == "key" else "session", UUID(id_))


class CredentialEnded(Exception):
    """The key was deleted, or the session was signed out or has expired."""


class CredentialsInUse:
    """Looks at all that are in use with one statement a second, whatever the number of streams.

    The database is asked, so it does not matter at which app server a user signs out.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: defaultdict[Credential, set[asyncio.Timeout]] = defaultdict(set)

    @asynccontextmanager
    async def hold(self, credential: Credential) -> AsyncIterator[None]:
        """Cancels the block and raises CredentialEnded once the credential is gone."""
        try:
            async with asyncio.timeout(None) as end:
                self._held[credential].add(end)
                try:
                    yield
                finally:
                    self._release(credential, end)
        except TimeoutError:
            if end.expired():
                raise CredentialEnded from None
            raise

    async def require(self, credential: Credential) -> None:
        """Raises CredentialEnded."""
        if not await self._valid([credential]):
            raise CredentialEnded

    async def check(self) -> None:
        held = set(self._held)
        for credential in held - await self._valid(held):
            for end in self._held.pop(credential, ()):
                end.reschedule(asyncio.get_running_loop().time())

    def _release(self, credential: Credential, end: asyncio.Timeout) -> None:
        if ends := self._held.get(credential):
            ends.discard(end)
            if not ends:
                del self._held[credential]

    async def _valid(self, credentials: Iterable[Credential]) -> set[Credential]:
        valid: set[Credential] = set()
        wanted = list(credentials)
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            keys = [one.id for one in batch if one.kind == "key"]
            sessions = [one.id for one in batch if one.kind == "session"]
            async with self._database.brief_read() as session:
                if keys:
                    found = await session.scalars(select(ApiKey.id).where(ApiKey.id.in_(keys)))
                    valid |= {Credential("key", id_) for id_ in found}
                if sessions:
                    lasting = WebSession.id.in_(sessions), WebSession.expires_at > now()
                    found = await session.scalars(select(WebSession.id).where(*lasting))
                    valid |= {Credential("session", id_) for id_ in found}
        return valid
