"""Lists and stops the sandboxes of one Slipway server (of one home directory) and shows the state of their
containers, for the `slipway sandboxes` commands. This also works while the server does not run.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import NotFound, Unavailable
from app_server.sandbox_backends.backend import Backend, LastWords
from app_server.sandbox_backends.docker.warm_pool_registry import POOL_FOLDER, WarmPoolRegistry
from app_server.sandbox_backends.remote.host_inventory import HostInventory
from app_server.sandbox_backends.selection import choose_backend
from app_server.sandbox_records.given_specs import given_bases
from app_server.sandbox_records.models import Sandbox, SandboxSpec, SandboxStatus


@dataclass(frozen=True)
class Entry:
    """One sandbox in the list that `slipway sandboxes ls` prints.

    `status`: the state in which the sandbox should be, from the database. `runs`: whether the sandbox's
    container or process runs now. The two can differ, for example while the sandbox is restarted.
    """

    id: UUID
    status: SandboxStatus
    spec_id: str
    runs: bool
    created_at: datetime
    host: str | None
    """The name of the sandbox host on which the sandbox runs. None if there is only one machine."""


class Inventory:
    def __init__(self, database: Database, backend: Backend, registry: WarmPoolRegistry) -> None:
        self._database = database
        self._backend = backend
        self._registry = registry

    async def entries(self) -> list[Entry]:
        """Returns the sandboxes, newest first. Raises StartFailure if the container engine fails."""
        async with self._database.read() as session:
            rows = list(
                (await session.execute(select(Sandbox).order_by(Sandbox.created_at.desc()))).scalars()
            )
        dead = await self._backend.find_dead([row.id for row in rows])
        return [
            Entry(
                row.id,
                SandboxStatus(row.status),
                row.spec_id,
                row.id not in dead and row.status != SandboxStatus.MISSING,
                row.created_at,
                self._backend.host_name(row.id),
            )
            for row in rows
        ]

    def spare(self) -> int:
        """Returns the number of unused containers in the warm pool, which are started in advance for new
        sandboxes. Containers that are still being prepared are counted, too. Reads files, so it blocks the
        calling thread.
        """
        return len(self._registry.free())

    async def last_words(self, prefix: str) -> LastWords:
        """Returns the last output of a sandbox's container or process, and the reason why it has ended. If
        the container or process still runs, the reason says so.

        `prefix`: the beginning of the sandbox's id. Raises NotFound if no sandbox or more than one sandbox
        has this prefix. Raises StartFailure if the container engine does not answer.
        """
        return await self._backend.last_words(await self._find(prefix))

    async def stop(self, prefix: str) -> UUID:
        """Stops the sandbox and returns its id. The sandbox's files stay. A running app server notices that
        the sandbox was stopped. `prefix`: the beginning of the sandbox's id. Raises NotFound if no sandbox or
        more than one sandbox has this prefix. Raises StartFailure if the sandbox cannot be stopped.
        """
        sandbox_id = await self._find(prefix)
        # The row changes first. Otherwise a server that finds the machine dead would start it again.
        async with self._database.session() as session:
            (await session.get_one(Sandbox, sandbox_id)).status = SandboxStatus.PAUSED
        await self._backend.stop(sandbox_id)
        return sandbox_id

    async def _find(self, prefix: str) -> UUID:
        wanted = prefix.replace("-", "").lower()
        async with self._database.read() as session:
            ids = list((await session.execute(select(Sandbox.id))).scalars())
        found = [each for each in ids if wanted and each.hex.startswith(wanted)]
        if len(found) != 1:
            raise NotFound(
                f"{len(found) or 'No'} sandboxes begin with {prefix!r}.", fix="See: slipway sandboxes ls"
            )
        return found[0]


@asynccontextmanager
async def open_inventory(config: Config) -> AsyncIterator[Inventory]:
    """Opens the server's database and the sandbox backend for a `with` block, and yields an Inventory, which
    lists and stops the sandboxes. Closes both at the end of the block. Raises StartFailure if the container
    engine does not answer.
    """
    database = Database(config.resolved_database_url)
    try:
        backend, _ = await choose_backend(config)
        try:
            yield Inventory(database, backend, WarmPoolRegistry(config.home / POOL_FOLDER))
        finally:
            await backend.close()
    finally:
        await database.close()


async def chosen_bases(config: Config) -> set[str]:
    """Returns the names of the base images that are still needed. A base image is an image on which sandbox
    images are built.

    These are the base images of present sandboxes, and those that users or administrators have chosen for
    later sandboxes. The home directory can belong to a sandbox host (a machine that runs sandboxes for app
    servers on other machines). Then the base images of the sandboxes on this host are included.

    Raises Unavailable if the database cannot be read.
    """
    of_a_host = await asyncio.to_thread(HostInventory(config.home).bases)
    if config.database_file and not await asyncio.to_thread(config.database_file.exists):
        return of_a_host
    database = Database(config.resolved_database_url)
    query = select(Sandbox.base_image).where(Sandbox.base_image.is_not(None)).union(select(SandboxSpec.base))
    try:
        async with database.read() as session:
            chosen = {str(base) for base in await session.scalars(query)}
            return of_a_host | chosen | await given_bases(session)
    except SQLAlchemyError as error:
        raise Unavailable(
            f"Which images users have chosen cannot be read: {error}",
            fix="Start Slipway once in this home: it brings its database up to date, or tells why not.",
        ) from error
    finally:
        await database.close()
