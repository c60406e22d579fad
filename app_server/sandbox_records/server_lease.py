"""Makes sure that only one process at a time uses a server id. A server id is stored in the file `server-id`
of a home directory. A copy of the home directory contains the same id, so an app server with the copy must
not start.

For each server id, a database row names the process that uses the id. This process regularly increases a
number in the row. Other processes watch the number: while it grows, the process still runs. So it does not
matter if the clocks of different machines differ.
"""

import asyncio
import logging
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from sqlalchemy import ColumnElement, or_, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.time_limits import time_limit
from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.errors import AppError, ConfigurationError
from app_server.sandbox_records.models import ServerLease
from app_server.sandbox_records.ownership import ID_FILE, Ownership

RENEW_SECONDS = 5.0
WATCH_SECONDS = 15.0
_POLL_SECONDS = 0.25
_RELEASE_SECONDS = 3.0
_OVER = timedelta(hours=1)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID = Path("/etc/machine-id")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _HomeLocation:
    """The location of a server's home directory: the machine and the directory. A restarted app server
    compares its location with the location in the database row. If they are equal, the row is its own, and
    the process that wrote the row has ended. This is certain, because a lock in the directory prevents two
    processes on one machine from using the same directory.

    `boot_id`: changes with each boot of the machine. `machine_id`: the content of `/etc/machine-id`.
    `home_id`: the device number and the inode number of the directory. `home`: the path of the directory.
    `host`: the network name of the machine, which is not compared.
    """

    boot_id: str
    machine_id: str
    home_id: str
    home: str
    host: str

    @classmethod
    def of(cls, home: Path) -> "_HomeLocation":
        status = home.stat()
        return cls(
            boot_id=_text_of(_BOOT_ID),
            machine_id=_text_of(_MACHINE_ID),
            home_id=f"{status.st_dev}:{status.st_ino}",
            home=str(home.resolve())[:500],
            host=socket.gethostname()[:200],
        )

    def is_of(self, row: ServerLease) -> bool:
        mine = (self.boot_id, self.machine_id, self.home_id, self.home)
        return bool(self.boot_id) and mine == (row.boot_id, row.machine_id, row.home_id, row.home)


class Lease:
    """The right of this process to use a server id (the id of one app server, stored in its home directory).
    The right is stored in the database. No other process may use the same id at the same time. If no other
    app server uses the database, no such right is needed, and all methods do nothing.
    """

    def __init__(
        self, config: Config, database: Database, ownership: Ownership, watch_seconds: float = WATCH_SECONDS
    ) -> None:
        self._database = database
        self._ownership = ownership
        self._home = config.home
        self._watch_seconds = watch_seconds

    async def take(self) -> None:
        """Reserves the id of this app server, which is stored in its home directory, for this process. If the
        database names another process for this id, watches the database row to find out whether that process
        still runs. This takes at most about `watch_seconds`, an argument of the constructor.

        Raises ConfigurationError if another process uses the id, because this means that the home directory
        was copied.
        """
        if self._ownership.server_id is None:
            return
        location = await asyncio.to_thread(_HomeLocation.of, self._home)
        deadline = asyncio.get_running_loop().time() + self._watch_seconds
        first = await self._find()
        while not await self._try(location, first, is_over=asyncio.get_running_loop().time() > deadline):
            row = await self._find()
            # This process may have renewed its own row meanwhile.
            if row is None or first is None or row.nonce != first.nonce or row.nonce == _nonce():
                first = row
            elif row.renewals != first.renewals:
                raise ConfigurationError(_words(self._home, row))
            await asyncio.sleep(_POLL_SECONDS)

    async def renew(self) -> None:
        """Renews the right of this process to use the id of this app server. If another process has taken the
        id, stores a sentence about that process in `taken_by` of the Ownership object. From then on, this app
        server does not use the sandboxes that run as processes on its machine. If that process has released
        the id, takes the id again and sets `taken_by` to None.
        """
        if self._ownership.server_id is None:
            return
        location = await asyncio.to_thread(_HomeLocation.of, self._home)
        async with self._database.session() as session:
            is_mine = await self._write(session, location, or_(_is_ours(), ServerLease.nonce.is_(None)))
        row = None if is_mine else await self._find()
        if row is None and not is_mine:
            await self._insert(location)
        taken_by = _words(self._home, row) if row else None
        if taken_by and not self._ownership.taken_by:
            logger.error("another server has taken this one's id", extra={"cause": taken_by})
        self._ownership.taken_by = taken_by

    async def release(self) -> None:
        """Releases the server id (the id of this app server) when this process ends. The next process can
        then use the id at once and need not wait to find out whether this process still runs.
        """
        if self._ownership.server_id is None:
            return
        try:
            async with time_limit(_RELEASE_SECONDS), self._database.session() as session:
                await session.execute(
                    update(ServerLease)
                    .where(ServerLease.server_id == self._ownership.server_id, _is_ours())
                    .values(nonce=None, renewed_at=now())
                )
        except (SQLAlchemyError, AppError, TimeoutError) as error:
            logger.warning("the id of this server is not given back", extra={"cause": repr(error)})

    async def _find(self) -> ServerLease | None:
        async with self._database.read() as session:
            return await session.get(ServerLease, self._ownership.server_id)

    async def _try(self, location: _HomeLocation, row: ServerLease | None, *, is_over: bool) -> bool:
        """Tries once to reserve the server id for this process. Returns whether the id was reserved.

        `row`: the current row of the id; None if there is no row. `is_over`: true if this process has watched
        the row until the time limit and the row has not changed. Then the process that the row names no
        longer runs, and this process may take the id.
        """
        if row is None:
            return await self._insert(location)
        is_free = row.nonce in {None, _nonce()} or location.is_of(row) or now() - row.renewed_at > _OVER
        if not (is_free or is_over):
            return False
        async with self._database.session() as session:
            same = ServerLease.nonce.is_(None) if row.nonce is None else ServerLease.nonce == row.nonce
            return await self._write(session, location, same, ServerLease.renewals == row.renewals)

    async def _insert(self, location: _HomeLocation) -> bool:
        try:
            async with self._database.session() as session:
                session.add(
                    ServerLease(
                        server_id=self._ownership.server_id, nonce=_nonce(), renewals=0, **vars(location)
                    )
                )
        except IntegrityError:
            return False  # another process was faster
        return True

    async def _write(
        self, session: AsyncSession, location: _HomeLocation, *conditions: ColumnElement[bool]
    ) -> bool:
        written = await session.execute(
            update(ServerLease)
            .where(ServerLease.server_id == self._ownership.server_id, *conditions)
            .values(nonce=_nonce(), renewals=ServerLease.renewals + 1, renewed_at=now(), **vars(location))
            .returning(ServerLease.server_id)
        )
        return written.scalar() is not None


def _is_ours() -> ColumnElement[bool]:
    return ServerLease.nonce == _nonce()


def _words(home: Path, row: ServerLease) -> str:
    return (
        f"Another Slipway server with the same id is on this database: on {row.host}, with the home "
        f"{row.home}. One of the two homes is a copy of the other. Stop that server, or, if {home} is the "
        f"copy, remove {home / ID_FILE}: then this server gets a new id, and process sandboxes stay "
        "with the other."
    )


def _text_of(path: Path) -> str:
    """Returns the first 100 characters of a text file. Returns an empty text if the file does not exist."""
    return path.read_text().strip()[:100] if path.exists() else ""


def _nonce() -> str:
    return _nonce_of(os.getpid())


@cache
def _nonce_of(_pid: int) -> str:
    # Cached by process id: a forked process is another process.
    return secrets.token_hex(16)
