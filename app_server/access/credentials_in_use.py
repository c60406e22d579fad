"""Ends open streams and connections when the API key or browser session that opened them is no
longer valid.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self
from uuid import UUID

from sqlalchemy import Select, null, or_, select

from app_server.access.permissions import Permission, permissions_of
from app_server.core.cancellable_blocks import HeldBlocks
from app_server.core.database import Database, now
from app_server.users.models import ApiKey, User, WebSession

CHECK_SECONDS = 1.0

# Well below the number of variables that a statement may have.
_BATCH = 500


@dataclass(frozen=True)
class Credential:
    """An API key or a browser session, identified by its id in the database."""

    kind: Literal["key", "session"]
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id.hex}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Converts the text `key:ID` (an API key) or `session:ID` (a browser session) to a Credential; ID is
        the id in the database. Raises ValueError for any other text.
        """
        kind, _, id_ = text.partition(":")
        if kind not in {"key", "session"}:
            raise ValueError(f"{kind!r} is no kind of credential")
        return cls("key" if kind == "key" else "session", UUID(id_))


@dataclass(frozen=True)
class _Use:
    credential: Credential
    permission: Permission


class CredentialEnded(Exception):
    """The error that is raised when a live stream must end because its credential no longer allows the
    stream: the API key or browser session was deleted or has expired, the user is disabled, or the user no
    longer has the required permission.
    """


class CredentialsInUse:
    """The API keys and browser sessions of all open streams of this app server. One SQL statement checks all
    of them once a second. The check reads the database, so a sign-out at one app server takes effect at all
    app servers.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: HeldBlocks[_Use] = HeldBlocks()

    @asynccontextmanager
    async def hold(self, credential: Credential, permission: Permission) -> AsyncIterator[None]:
        """Returns a context manager that ends a stream when its credential no longer allows it. The stream
        must run inside the `async with` block. `permission`: the permission that the stream requires.

        If the credential loses the permission or becomes invalid, the block is cancelled and CredentialEnded
        is raised.
        """
        async with self._held.until_ended(_Use(credential, permission), CredentialEnded):
            yield

    async def require(self, credential: Credential, permission: Permission) -> None:
        """Checks that the credential has the permission at this moment. Raises CredentialEnded if the
        credential is no longer valid or does not have the permission.
        """
        if permission not in (await self._permissions([credential])).get(credential, ()):
            raise CredentialEnded

    async def check(self) -> None:
        held = self._held.causes
        permissions = await self._permissions({use.credential for use in held})
        for use in held:
            if use.permission not in permissions.get(use.credential, ()):
                self._held.end(use)

    async def _permissions(
        self, credentials: Iterable[Credential]
    ) -> dict[Credential, frozenset[Permission]]:
        """Returns the permissions of each credential that is still valid. Credentials that are not valid are
        left out.
        """
        found: dict[Credential, frozenset[Permission]] = {}
        wanted = list(credentials)
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            keys = [one.id for one in batch if one.kind == "key"]
            sessions = [one.id for one in batch if one.kind == "session"]
            async with self._database.brief_read() as session:
                if keys:
                    lasting = or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now())
                    query = _of_enabled_users(ApiKey.id, ApiKey.scopes, ApiKey).where(
                        ApiKey.id.in_(keys), lasting
                    )
                    for id_, scopes, role, organisation_id in await session.execute(query):
                        found[Credential("key", id_)] = permissions_of(role, organisation_id, scopes)
                if sessions:
                    query = _of_enabled_users(WebSession.id, null(), WebSession).where(
                        WebSession.id.in_(sessions), WebSession.expires_at > now()
                    )
                    for id_, _, role, organisation_id in await session.execute(query):
                        found[Credential("session", id_)] = permissions_of(role, organisation_id)
        return found


def _of_enabled_users(id_: Any, scopes: Any, credential: type[ApiKey | WebSession]) -> Select[Any]:
    query = select(id_, scopes, User.role, User.organisation_id).select_from(credential)
    return query.join(User, User.id == credential.user_id).where(User.disabled_at.is_(None))
