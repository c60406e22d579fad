"""Reads and writes the database rows of sandboxes. A row stores the state in which its sandbox should be.
Each call is one short transaction.
"""

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import undefer

from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.backend import Machine
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_images.base_image import BaseImage, BuildFiles, BuildLimits
from app_server.sandbox_records.given_specs import given_files
from app_server.sandbox_records.models import Sandbox, SandboxSpec, SandboxStatus
from app_server.sandbox_records.ownership import Ownership, is_lost

REMOTE = "remote"
"""The name of the backend for sandboxes on other hosts. The `spec_id` of such a sandbox begins with this
text.
"""


class Rows:
    def __init__(self, config: Config, database: Database) -> None:
        self._limits = BuildLimits.of(config)
        self._database = database
        self.ownership = Ownership(config)

    def base_of(self, sandbox: Sandbox) -> BaseImage | None:
        """Returns the base image that the user has chosen for the sandbox; the sandbox's image is built on
        it. Returns None if the sandbox uses the default base image.
        """
        if sandbox.base_image is None:
            return None
        return BaseImage(
            sandbox.base_image, self._limits, partial(self._files_of, sandbox, sandbox.base_image)
        )

    async def _files_of(self, sandbox: Sandbox, base: str) -> tuple[BuildFiles, bytes] | None:
        query = select(SandboxSpec).where(
            SandboxSpec.user_id == sandbox.user_id,
            SandboxSpec.base == base,
            SandboxSpec.build.is_not(None),
        )
        async with self._database.read() as session:
            spec = await session.scalar(query.options(undefer(SandboxSpec.files)).limit(1))
            if spec is not None and spec.build is not None and spec.files is not None:
                return BuildFiles(name=spec.base, **spec.build), spec.files
            # The name is computed from the files, so any spec with this base has the same files.
            given = await given_files(session, base)
        return None if given is None else (BuildFiles(name=base, **given[0]), given[1])

    async def find(self, sandbox_id: UUID) -> Sandbox | None:
        async with self._database.read() as session:
            return await session.get(Sandbox, sandbox_id)

    async def wanted(self, backend: str) -> set[UUID]:
        """Returns the ids of the sandboxes of this backend whose stored status is RUNNING and that this app
        server may start, stop and remove.

        These are the sandboxes that belong to no app server, such as containers, and the process sandboxes
        (processes on one machine) of this app server. If another app server uses the id of this app server,
        leaves out the process sandboxes of this id.
        """
        query = select(Sandbox.id).where(
            Sandbox.status == SandboxStatus.RUNNING, _is_of_kind(backend), self.ownership.is_mine
        )
        async with self._database.read() as session:
            return set((await session.execute(query)).scalars())

    async def elsewhere(self) -> set[UUID]:
        """Returns the ids of the sandboxes that belong to other app servers on the same database. These
        sandboxes run as processes on the machines of those app servers.
        """
        async with self._database.read() as session:
            return set((await session.execute(select(Sandbox.id).where(~self.ownership.is_mine))).scalars())

    async def of_kind(self, backend: str) -> set[UUID]:
        """Returns the ids of all sandboxes of this backend, with any status. Leaves out sandboxes that belong
        to other app servers on the same database.

        `backend`: `docker` (containers), `process` (processes) or `remote` (containers on other hosts).
        """
        async with self._database.read() as session:
            query = select(Sandbox.id).where(_is_of_kind(backend), self.ownership.is_mine)
            return set((await session.execute(query)).scalars())

    async def asleep(self, sandbox_ids: Collection[UUID] | None, minutes: float = 0) -> list[UUID]:
        """Returns the ids of the sandboxes that have slept (were paused) for at least `minutes`. The sandbox
        that has slept longest comes first. Leaves out sandboxes that belong to other app servers on the same
        database.

        `sandbox_ids`: only these sandboxes are returned; None means all sandboxes.
        """
        query = (
            select(Sandbox.id)
            .where(
                Sandbox.status == SandboxStatus.PAUSED,
                Sandbox.updated_at <= now() - timedelta(minutes=minutes),
                self.ownership.is_mine,
            )
            .order_by(Sandbox.updated_at)
        )
        if sandbox_ids is not None:
            query = query.where(Sandbox.id.in_(sandbox_ids))
        async with self._database.read() as session:
            return list((await session.execute(query)).scalars())

    async def with_leftovers(self) -> list[UUID]:
        """Returns the ids of the archived sandboxes whose container, process or workspace may still have to
        be removed, for example because an earlier removal has failed or was interrupted.
        """
        query = select(Sandbox.id).where(
            Sandbox.status == SandboxStatus.ARCHIVED,
            Sandbox.has_leftovers.is_(True),
            self.ownership.is_mine,
        )
        async with self._database.read() as session:
            return list((await session.execute(query)).scalars())

    async def lost(self) -> set[UUID]:
        """Returns the ids of the sandboxes with the status MISSING, because the app server could not reach
        their sandbox host (the machine on which they run).
        """
        query = select(Sandbox.id).where(Sandbox.status == SandboxStatus.MISSING, self.ownership.is_mine)
        async with self._database.read() as session:
            return set((await session.execute(query)).scalars())

    async def begin_from(self, sandbox_id: UUID, archive_id: UUID) -> None:
        """Stores that the sandbox is archived (status ARCHIVED) and that its workspace is in the archive
        `archive_id`. The next start of the sandbox then restores its workspace from this archive.
        """
        changes = {"status": SandboxStatus.ARCHIVED, "error": None, "archive_id": archive_id}
        async with self._database.session() as session:
            await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(changes))

    async def put_back(self, sandbox_id: UUID) -> None:
        """Sets the sandbox's status back to ARCHIVED after its archive was not restored completely. Also sets
        `has_leftovers`, so that the files that were already restored are removed.
        """
        changes = {"status": SandboxStatus.ARCHIVED, "error": None, "has_leftovers": True}
        async with self._database.session() as session:
            await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(changes))

    async def mark_clear(self, sandbox_id: UUID) -> None:
        async with self._database.session() as session:
            await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(has_leftovers=False))

    async def save(
        self,
        sandbox_id: UUID,
        status: SandboxStatus,
        *,
        machine: Machine | None = None,
        failure: StartFailure | None = None,
    ) -> None:
        """Stores the sandbox's status. Does nothing if there is no such sandbox.

        `machine`: the sandbox's new container or process; None leaves the stored data about it unchanged.
        `failure`: why the sandbox has failed; None removes a stored failure.
        """
        async with self._database.session() as session:
            sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None:
                return
            sandbox.status = status
            sandbox.error = _error(failure) if failure else None
            if machine:
                sandbox.spec_id = machine.spec_id
                sandbox.server_id = self.ownership.server_id if machine.spec_id == PROCESS else None

    async def has_lost_server(self, sandbox: Sandbox) -> bool:
        """Returns whether the sandbox belongs to another app server that has not renewed its lease (the right
        to use its server id) for longer than the time LOST_AFTER. Then that app server has probably stopped.
        """
        query = select(Sandbox.id).where(Sandbox.id == sandbox.id, is_lost(Sandbox.server_id))
        async with self._database.read() as session:
            return await session.scalar(query) is not None and sandbox.server_id != self.ownership.server_id

    async def delete(self, sandbox_id: UUID) -> None:
        """Deletes the database row of the sandbox. Does nothing if there is no such sandbox."""
        async with self._database.session() as session:
            if sandbox := await session.get(Sandbox, sandbox_id):
                await session.delete(sandbox)


def kind_of(spec_id: str) -> str:
    """Returns the name of the backend that runs a sandbox: "process", "remote" or "docker".

    `spec_id`: a text that is stored with the sandbox. Before the sandbox's first start, this text is the name
    of the backend. After that, it is `process` for a process, the image's name for a container, and `remote:`
    with the image's name for a container on another host.
    """
    return spec_id if spec_id == PROCESS else REMOTE if spec_id.startswith(REMOTE) else "docker"


def _is_of_kind(backend: str) -> ColumnElement[bool]:
    is_process, is_remote = Sandbox.spec_id == PROCESS, Sandbox.spec_id.startswith(REMOTE)
    return is_process if backend == PROCESS else is_remote if backend == REMOTE else ~is_process & ~is_remote


def _error(failure: StartFailure) -> dict[str, str]:
    return {"code": failure.code, "cause": failure.cause, "fix": failure.fix, "output": failure.output}
