"""Stores archives: copies of sandbox workspaces. Each archive is a compressed file and a database row.

The row is written only after the file is complete. The file is deleted only after the row is deleted.
"""

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import UUID, uuid4

from sqlalchemy import delete, select

from app_server.archives.files import ArchiveReader, ArchiveWriter, WrittenArchive
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import StartFailure
from app_server.core.start_report import Report
from app_server.sandbox_backends.backend import Backend
from app_server.sandbox_backends.docker.hardening import AGENT_UID
from app_server.sandbox_backends.workspace_tar import PROJECT, TarSink, cannot_move, clean, writing
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus

Fill = Callable[[TarSink], Coroutine[Any, Any, None]]
"""A function that writes the tar of a workspace to the given sink (an object with the method `write`). The
function does the writing in a thread.
"""


class Archives:
    def __init__(self, config: Config, database: Database) -> None:
        self._folder = config.home / "archives"
        self._max_bytes = config.sandbox_archive_max_bytes
        self._database = database

    async def write(
        self, sandbox: Sandbox, kind: ArchiveKind, fill: Fill, name: str | None = None
    ) -> Archive:
        """Copies the sandbox's files into a new archive file and waits until the file is complete. Returns a
        database row for the file; the caller must add this row to the database. Raises StartFailure if the
        file cannot be written.

        `fill`: a function that writes the tar of the files; it gets the object to which it must write.
        `kind`: why the archive is made, see Archive. `name`: the name that the user sees; None for archives
        without a name.
        """
        archive_id = uuid4()
        written = await self._written(sandbox.id, archive_id, fill)
        return Archive(
            id=archive_id,
            sandbox_id=sandbox.id,
            user_id=sandbox.user_id,
            kind=kind,
            name=name,
            size_bytes=written.size_bytes,
            sha256=written.sha256,
        )

    async def write_copy(self, sandbox_id: UUID, fill: Fill) -> BinaryIO:
        """Writes a temporary archive file and returns it as an open file, from which the caller reads the
        gzipped tar. The file is deleted when the caller closes it, and it has no database row.

        `sandbox_id`: the sandbox whose files are copied. `fill`: a function that writes the tar of these
        files; it gets the object to which it must write. Raises StartFailure if the file cannot be written.
        """
        copy_id = uuid4()
        await self._written(sandbox_id, copy_id, fill)
        return await asyncio.to_thread(_open_and_unlink, self._file(sandbox_id, copy_id))

    async def _written(self, sandbox_id: UUID, archive_id: UUID, fill: Fill) -> WrittenArchive:
        await self._remove_strays(sandbox_id)
        try:
            with ArchiveWriter(self._file(sandbox_id, archive_id), self._max_bytes) as writer:
                await _to_its_end(fill(writer), writer)
                return await asyncio.to_thread(writer.finish)
        except OSError as error:
            raise cannot_move(str(error)) from error

    async def replace_workspace(self, sandbox_id: UUID, archive: Archive) -> None:
        """Adds the row of a new archive to the database and sets the sandbox's status to ARCHIVED. From now
        on, a start of the sandbox restores its files from the archive; the present workspace is no longer
        used.

        Also sets `has_leftovers` in the sandbox's row, because the sandbox's container or process and its
        workspace must still be removed.
        """
        async with self._database.session() as session:
            sandbox = await session.get_one(Sandbox, sandbox_id)
            session.add(archive)
            sandbox.status, sandbox.error = SandboxStatus.ARCHIVED, None
            sandbox.archive_id, sandbox.has_leftovers = archive.id, True

    async def add(self, archive: Archive) -> None:
        async with self._database.session() as session:
            session.add(archive)

    async def lay_out(self, sandbox_id: UUID, archive_id: UUID, backend: Backend, report: Report) -> Archive:
        """Replaces the files in the sandbox's workspace by the files of an archive, and returns the archive's
        database row. `report`: a function that is called with a line of text about the progress.

        At the end, calls `take_up`, so that the next start of the sandbox does not restore the archive again.
        Does not call it for a backup: the caller must call `take_up` when the conversation's log is restored,
        too.

        Raises StartFailure if the files cannot be restored. The next start of the sandbox then tries again.
        """
        archive = await self.find(archive_id)
        size = f"{archive.size_bytes / 1024**2:.1f} MB"
        report(f"Bringing the files back from {_described(archive)} ({size})")
        try:
            with await asyncio.to_thread(self._open, archive) as reader:
                await _to_its_end(backend.restore(sandbox_id, reader), reader)
        except OSError as error:
            raise cannot_move(str(error)) from error
        if archive.kind != ArchiveKind.BACKUP:
            await self.take_up(sandbox_id, archive)
        return archive

    async def take_up(self, sandbox_id: UUID, archive: Archive) -> None:
        """Stores in the database that the files of `archive` are in the sandbox's workspace again, so that
        the next start does not restore them. Deletes `archive` if its kind is ARCHIVE, because it is no
        longer needed. Keeps snapshots and backups.
        """
        is_own = archive.kind == ArchiveKind.ARCHIVE
        async with self._database.session() as session:
            sandbox = await session.get_one(Sandbox, sandbox_id)
            sandbox.archive_id, sandbox.has_leftovers = None, False
            if is_own:
                await session.execute(delete(Archive).where(Archive.id == archive.id))
        if is_own:
            await self._remove_strays(sandbox_id)

    async def copy_project(self, archive_id: UUID, sink: TarSink, folder: str | None = None) -> None:
        """Writes the project directory of an archive to `sink` as an uncompressed tar. Raises StartFailure if
        the archive's file is missing or damaged.

        `sink`: an object whose method `write` gets the bytes of the tar. `folder`: a directory in the
        project. If it is given, only its content is written, as if it were the whole project: for the folder
        `src`, the file `project/src/a.py` gets the name `project/a.py`.
        """
        archive = await self.find(archive_id)

        def copy() -> None:
            with self._open(archive) as reader, writing(sink) as tar:
                clean(reader, PROJECT, tar, owner=AGENT_UID, folder=folder)

        await asyncio.to_thread(copy)

    async def backup_of(self, sandbox_id: UUID) -> Archive | None:
        """Returns the latest backup of the sandbox. Returns None if the sandbox has no backup."""
        query = (
            select(Archive)
            .where(Archive.sandbox_id == sandbox_id, Archive.kind == ArchiveKind.BACKUP)
            .order_by(Archive.created_at.desc())
            .limit(1)
        )
        async with self._database.read() as session:
            return (await session.scalars(query)).one_or_none()

    async def replace_backup(self, backup: Archive) -> None:
        """Adds the row of a new backup to the database and deletes the older backups of the same sandbox."""
        others = delete(Archive).where(
            Archive.sandbox_id == backup.sandbox_id, Archive.kind == ArchiveKind.BACKUP
        )
        async with self._database.session() as session:
            await session.execute(others)
            session.add(backup)
        await self._remove_strays(backup.sandbox_id)

    async def snapshot_names(self, sandbox_id: UUID) -> set[str | None]:
        query = select(Archive.name).where(
            Archive.sandbox_id == sandbox_id, Archive.kind == ArchiveKind.SNAPSHOT
        )
        async with self._database.read() as session:
            return set(await session.scalars(query))

    async def find(self, archive_id: UUID) -> Archive:
        async with self._database.read() as session:
            archive = await session.get(Archive, archive_id)
        if archive is None:
            raise StartFailure(
                "archive_missing",
                "The snapshot that this workspace starts from has been removed.",
                fix="Start another conversation, from another snapshot or from its repository.",
            )
        return archive

    async def remove(self, archive: Archive) -> None:
        """Deletes the archive: its database row and then its file. Deletes no other file, because the caller
        need not hold the sandbox's lock, and another task may be writing an archive of the same sandbox.
        """
        async with self._database.session() as session:
            await session.execute(delete(Archive).where(Archive.id == archive.id))
        await asyncio.to_thread(self._file(archive.sandbox_id, archive.id).unlink, missing_ok=True)

    async def remove_all(self, sandbox_id: UUID) -> None:
        """Deletes all archive files of a sandbox. The caller must have deleted their database rows before."""
        await asyncio.to_thread(shutil.rmtree, self._folder / sandbox_id.hex, ignore_errors=True)

    async def share(self, archive: Archive, sandbox_id: UUID) -> None:
        """Adds the archive's file to the directory of another sandbox, so that the archive can be moved to
        this sandbox. Creates a hard link, so the content is not copied. `sandbox_id`: the other sandbox.

        The caller must then store the id of the other sandbox in the archive's row. After that, it must call
        `unshare` with the id of the previous sandbox.
        """
        source, target = self._file(archive.sandbox_id, archive.id), self._file(sandbox_id, archive.id)

        def link() -> None:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.hardlink_to(source)

        await asyncio.to_thread(link)

    async def unshare(self, archive_id: UUID, sandbox_id: UUID) -> None:
        """Deletes the archive's file from the directory of the sandbox `sandbox_id`. The file stays in the
        directory of the other sandbox that has got it through `share`. Does nothing if there is no such file.
        """
        await asyncio.to_thread(self._file(sandbox_id, archive_id).unlink, missing_ok=True)

    def _open(self, archive: Archive) -> ArchiveReader:
        return ArchiveReader(self._file(archive.sandbox_id, archive.id), archive.sha256)

    def _file(self, sandbox_id: UUID, archive_id: UUID) -> Path:
        return self._folder / sandbox_id.hex / f"{archive_id.hex}.tar.gz"

    async def _remove_strays(self, sandbox_id: UUID) -> None:
        """Deletes the sandbox's archive files that have no database row. Such a file may be the file of a
        deleted archive, or an incomplete file that a killed server has left.

        The caller must hold the sandbox's lock. Otherwise the method could delete a complete file whose row
        another task is about to add.
        """
        async with self._database.read() as session:
            rows = await session.scalars(select(Archive.id).where(Archive.sandbox_id == sandbox_id))
            known = {self._file(sandbox_id, archive_id) for archive_id in rows}
        await asyncio.to_thread(_remove_others, self._folder / sandbox_id.hex, known)


def _described(archive: Archive) -> str:
    match archive.kind:
        case ArchiveKind.ARCHIVE:
            return "their archive"
        case ArchiveKind.BACKUP:
            return f"their backup of {archive.created_at:%Y-%m-%d %H:%M} UTC"
        case _:
            return "a snapshot"


class _Abortable(Protocol):
    def abort(self) -> None: ...


async def _to_its_end(work: Coroutine[Any, Any, None], file: _Abortable) -> None:
    """Runs the coroutine `work`, which reads or writes the archive file `file` in a thread, and waits until
    it has ended.

    If the caller is cancelled while it waits, calls `file.abort()`, waits until `work` has ended, and raises
    CancelledError. So the thread never uses the file after this function has ended, and the caller can close
    it.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        file.abort()
        await asyncio.wait({task})
        raise


def _open_and_unlink(path: Path) -> BinaryIO:
    file = path.open("rb")
    path.unlink()
    return file


def _remove_others(folder: Path, known: set[Path]) -> None:
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        if path not in known:
            path.unlink(missing_ok=True)
