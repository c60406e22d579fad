"""Copies the workspaces of sandboxes into archive files and snapshots. Replaces the workspace of a sandbox by
an archive file: on request, or when the sandbox has slept (was paused) for the configured number of days.
"""

import logging
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import BinaryIO
from uuid import UUID
from weakref import WeakValueDictionary

from app_server.archives.archives import Archives, Fill
from app_server.core.config import Config
from app_server.core.errors import AppError, Conflict, StartFailure, Unavailable
from app_server.sandbox_backends.workspace_tar import PARTS, PROJECT, TarSink
from app_server.sandbox_lifecycle.machines import Machines, log_report
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.sandbox_records.rows import Rows

logger = logging.getLogger(__name__)

_MINUTES_OF_A_DAY = 24 * 60
_AT_REST = {SandboxStatus.RUNNING, SandboxStatus.PAUSED}


class Archiving:
    def __init__(self, config: Config, machines: Machines, rows: Rows, archives: Archives) -> None:
        self._days = config.sandbox_archive_days
        self._machines = machines
        self._rows = rows
        self._archives = archives
        self._refused: set[UUID] = set()
        """The ids of the sandboxes whose automatic archiving has failed. The app server tries again only
        after its next start. Users can still archive these sandboxes themselves.
        """
        self._copies: WeakValueDictionary[UUID, BinaryIO] = WeakValueDictionary()
        """The copy of a sandbox's files that a user is downloading, by the sandbox's id. Only one copy of a
        sandbox is open at a time, because each copy needs as much disk space as the files.
        """

    async def archive(self, sandbox_id: UUID) -> None:
        """Archives a sandbox: writes its workspace to an archive file, and then removes the workspace and the
        sandbox's container or process. Does nothing if the sandbox is already archived.

        Raises NotFound if there is no such sandbox. Raises Conflict `sandbox_not_at_rest` if the sandbox
        neither runs nor sleeps. Raises Unavailable with the error code of the sandbox backend (such as
        Docker) if the backend fails. After such a failure, the workspace is unchanged and the sandbox sleeps.
        """
        await self._archive(sandbox_id)

    async def _archive(self, sandbox_id: UUID, min_sleep_days: float | None = None) -> bool:
        """Archives a sandbox as `archive` does. Returns True if the sandbox is archived at the end.

        `min_sleep_days`: if given, the sandbox is archived only if it has slept for this many days at the
        time when no other task can wake it any more. Otherwise the method changes nothing and returns False.
        """
        machines = self._machines
        with _as_unavailable():
            await self._ready(sandbox_id)
            async with machines.locks[sandbox_id]:
                sandbox = await machines.require(sandbox_id)
                if sandbox.status == SandboxStatus.ARCHIVED:
                    return True
                if min_sleep_days is not None and not await self._asleep([sandbox_id], min_sleep_days):
                    return False
                _require_rest(sandbox)
                machines.running.pop(sandbox_id, None)
                await self._rows.save(sandbox_id, SandboxStatus.PAUSED)
                # Announced now, because packing takes a while.
                await machines.changed(sandbox_id)
                await machines.backend.stop(sandbox_id)

                async def fill(sink: TarSink) -> None:
                    await machines.backend.export(sandbox_id, PARTS, sink)

                if sandbox.archive_id is None:
                    archive = await self._archives.write(sandbox, ArchiveKind.ARCHIVE, fill)
                    # The file is written first, so that the row always names a complete archive.
                    await self._archives.replace_workspace(sandbox_id, archive)
                else:
                    # Its archive was not completely unpacked, so the archive is still the valid workspace.
                    await self._rows.put_back(sandbox_id)
                await self._clear(sandbox_id)
        await machines.changed(sandbox_id)
        return True

    async def _asleep(self, sandbox_ids: Collection[UUID] | None, days: float) -> list[UUID]:
        return await self._rows.asleep(sandbox_ids, days * _MINUTES_OF_A_DAY)

    async def snapshot(
        self,
        sandbox_id: UUID,
        name: str | None,
        *,
        conversation_id: UUID | None = None,
        folder: str | None = None,
    ) -> Archive:
        """Stores a copy of a conversation's files as a tar, and returns the database row of this snapshot.
        Programs in the sandbox are paused during the copy if the backend can do that. Raises NotFound if
        there is no such sandbox. Raises Conflict `sandbox_not_at_rest` if the sandbox neither runs nor sleeps
        and has no archive. Raises Unavailable if the sandbox backend fails.

        `name`: the snapshot's name; None means no name. `conversation_id`: the conversation; None means the
        conversation for which the sandbox was created. `folder`: the conversation's folder in the project;
        None means the whole project.
        """
        async with self._files_at_rest(sandbox_id, folder) as (sandbox, fill):
            archive = await self._archives.write(sandbox, ArchiveKind.SNAPSHOT, fill, name)
            archive.conversation_id = conversation_id or sandbox_id
            await self._archives.add(archive)
            return archive

    async def copy(self, sandbox_id: UUID, folder: str | None = None) -> BinaryIO:
        """Returns a copy of the sandbox's project files, as an open file that contains a gzipped tar. The
        file is deleted when the caller closes it.

        `folder`: the conversation's folder in the project; None means the whole project. Raises NotFound if
        there is no such sandbox. Raises Conflict `sandbox_not_at_rest` if the sandbox neither runs nor sleeps
        and has no archive. Raises Unavailable if the sandbox backend fails. Raises Conflict
        `download_running` if an earlier copy of this sandbox's files is still open.
        """
        async with self._files_at_rest(sandbox_id, folder) as (_, fill):
            earlier = self._copies.get(sandbox_id)
            if earlier is not None and not earlier.closed:
                raise Conflict(
                    "The files of this sandbox are being downloaded already.",
                    code="download_running",
                    fix="Wait until that download has ended, or end it.",
                )
            copied = await self._archives.write_copy(sandbox_id, fill)
            self._copies[sandbox_id] = copied
            return copied

    @asynccontextmanager
    async def _files_at_rest(
        self, sandbox_id: UUID, folder: str | None
    ) -> AsyncIterator[tuple[Sandbox, Fill]]:
        """Locks the sandbox while the `with` block runs, so that no other task changes the sandbox. Yields
        the sandbox's database row and a function that writes the files of its project as a tar.

        `folder`: a folder in the project; if given, only the files in this folder are written. Raises
        NotFound if there is no such sandbox. Raises Conflict `sandbox_not_at_rest` if the sandbox neither
        runs nor sleeps and has no archive. Raises Unavailable if the sandbox backend fails.
        """
        machines = self._machines
        with _as_unavailable():
            await self._ready(sandbox_id)
            async with machines.locks[sandbox_id]:
                sandbox = await machines.require(sandbox_id)

                async def fill(sink: TarSink) -> None:
                    if sandbox.archive_id:
                        await self._archives.copy_project(sandbox.archive_id, sink, folder)
                    else:
                        await machines.backend.export(sandbox_id, [PROJECT], sink, folder)

                if sandbox.archive_id is None:
                    _require_rest(sandbox)
                machines.held.add(sandbox_id)
                try:
                    yield sandbox, fill
                finally:
                    machines.held.discard(sandbox_id)

    async def tidy(self) -> None:
        """Runs one round of the background task that archives sandboxes. Archives each sandbox that has slept
        (was paused) for the configured number of days. Also removes the containers, processes and workspaces
        of archived sandboxes whose removal has failed or was interrupted before.
        """
        if self._machines.is_absent:
            return
        for sandbox_id in await self._rows.with_leftovers():
            await self._clear_later(sandbox_id)
        if self._days is None:
            return
        asleep = await self._asleep(None, self._days)
        for sandbox_id in [each for each in asleep if each not in self._refused]:
            try:
                # Packing the sandboxes before this one may have taken long, and a user may have woken it.
                if await self._archive(sandbox_id, self._days):
                    logger.info("a sleeping sandbox was archived", extra={"sandbox_id": sandbox_id.hex})
            except AppError as error:
                self._refused.add(sandbox_id)
                extra = {"sandbox_id": sandbox_id.hex, "cause": error.detail, "fix": error.fix}
                logger.warning("a sandbox could not be archived", extra=extra)

    async def _ready(self, sandbox_id: UUID) -> None:
        sandbox = await self._machines.require(sandbox_id)
        await self._machines.await_engine()
        await self._machines.backend.prepare(log_report(sandbox_id), self._rows.base_of(sandbox), sandbox_id)

    async def _clear_later(self, sandbox_id: UUID) -> None:
        async with self._machines.locks[sandbox_id]:
            if sandbox_id in await self._rows.with_leftovers():  # and not woken meanwhile
                await self._clear(sandbox_id)

    async def _clear(self, sandbox_id: UUID) -> None:
        """Removes the workspace of an archived sandbox, and its container or process. The caller must hold
        the sandbox's lock. If the removal fails, a later round of `tidy` tries again.
        """
        try:
            await self._machines.backend.delete(sandbox_id)
        except StartFailure as failure:
            extra = {"sandbox_id": sandbox_id.hex, "cause": failure.cause}
            logger.warning("an archived workspace could not be removed", extra=extra)
            return
        await self._rows.mark_clear(sandbox_id)


def _require_rest(sandbox: Sandbox) -> None:
    if sandbox.status not in _AT_REST:
        raise Conflict(
            f"The sandbox is {sandbox.status}: its files may not be whole.",
            code="sandbox_not_at_rest",
            fix="Wait until it has started, or fix what keeps it from starting.",
        )


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except StartFailure as failure:
        raise Unavailable(failure.cause, code=failure.code, fix=failure.fix) from failure
