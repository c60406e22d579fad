"""Tests of workspaces that are archived and restored, and of snapshots for new conversations."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from docker import DockerClient
from sqlalchemy import select, update

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.archives import archives as archives_module
from app_server.archives.files import ArchiveWriter, WrittenArchive
from app_server.core.database import now
from app_server.core.errors import Conflict, StartFailure, Unavailable
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandbox_records.models import Archive, Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, name_of, shell


@pytest.fixture
async def sandboxes(house: House) -> AsyncIterator[Sandboxes]:
    async with house.open_sandboxes() as opened:
        yield opened


async def test_files_come_back_from_an_archive(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    await shell(running, "echo kept > file; ln -s /usr/bin/env link; chmod 640 file")

    await sandboxes.archiving.archive(running.id)
    await sandboxes.archiving.archive(running.id)

    assert await status_of(house, running.id) == SandboxStatus.ARCHIVED
    assert not (house.config.home / "sandboxes" / running.id.hex).exists()
    assert len(files_of(house, running.id)) == 1
    with pytest.raises(Conflict):
        sandboxes.client(running.id)

    again = await sandboxes.bring_up(running.id, house.reports.append)

    assert await shell(again, "cat file; readlink link; stat -c %a file") == "kept\n/usr/bin/env\n640\n"
    assert any("from their archive" in line for line in house.reports)
    assert await status_of(house, running.id) == SandboxStatus.RUNNING
    assert files_of(house, running.id) == []
    assert await rows_of(house, running.id) == []


async def test_a_new_sandbox_begins_from_a_snapshot(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    await shell(running, "echo one > file; echo private > ../conversations/log")
    snapshot = await sandboxes.archiving.snapshot(running.id, "before")
    await shell(running, "echo two > file")
    await sandboxes.archiving.archive(running.id)
    later = await sandboxes.archiving.snapshot(running.id, None)
    with await sandboxes.archiving.copy(running.id):
        with pytest.raises(Conflict) as refused:
            await sandboxes.archiving.copy(running.id)
        assert refused.value.code == "download_running"
    (await sandboxes.archiving.copy(running.id)).close()

    first, second = [await begun_from(house, sandboxes, each.id) for each in (snapshot, later)]

    assert await shell(first, "cat file; ls ../conversations") == "one\n"
    assert await shell(second, "cat file; ls ../conversations") == "two\n"
    assert len(files_of(house, running.id)) == 3, "snapshots stay when somebody began from them"


async def test_what_cannot_be_archived_stays(
    house: House, sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await house.start(sandboxes)
    await shell(running, "echo kept > file; head -c 2000000 /dev/zero > big")
    monkeypatch.setattr(sandboxes.archives, "_max_bytes", 1024**2)

    with pytest.raises(Unavailable) as refused:
        await sandboxes.archiving.archive(running.id)

    assert refused.value.code == "archive_too_large"
    assert files_of(house, running.id) == []
    assert await status_of(house, running.id) == SandboxStatus.PAUSED
    await sandboxes.wake(running.id)
    assert await shell(sandboxes.running(running.id), "cat file") == "kept\n"


async def test_a_damaged_archive_is_not_restored_and_stays(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    await sandboxes.archiving.archive(running.id)
    [file] = files_of(house, running.id)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    with pytest.raises(StartFailure) as failure:
        await sandboxes.bring_up(running.id, house.reports.append)

    assert failure.value.code == "archive_damaged"
    assert files_of(house, running.id) == [file]


async def test_what_could_not_be_brought_back_goes_back_into_its_archive(
    house: House, sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await house.start(sandboxes)
    await shell(running, "echo kept > file")
    await sandboxes.archiving.archive(running.id)
    await sandboxes.pause(running.id)
    assert await status_of(house, running.id) == SandboxStatus.ARCHIVED

    async def half(backend: ProcessBackend, sandbox_id: UUID, _: object) -> None:
        (backend._folder(sandbox_id) / "workspace" / "project").mkdir(parents=True)
        raise StartFailure("archive_failed", "The disk is full.", fix="Free some room.")

    with monkeypatch.context() as failing:
        failing.setattr(ProcessBackend, "restore", half)
        with pytest.raises(StartFailure):
            await sandboxes.bring_up(running.id, house.reports.append)
    await sandboxes.pause(running.id)

    await sandboxes.archiving.archive(running.id)

    assert await status_of(house, running.id) == SandboxStatus.ARCHIVED
    again = await sandboxes.bring_up(running.id, house.reports.append)
    assert await shell(again, "cat file") == "kept\n"


class Killed(BaseException):
    """An exception that simulates kill -9: no code of the app server catches it."""


async def kill_at_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(ArchiveWriter, "finish", die)
    monkeypatch.setattr(ArchiveWriter, "__exit__", lambda writer, *_: writer._file.close())


async def kill_before_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(archives_module.Archives, "replace_workspace", die)


async def kill_before_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    async def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(ProcessBackend, "delete", die)


@pytest.mark.parametrize("kill", [kill_at_finish, kill_before_commit, kill_before_removal])
async def test_a_server_killed_while_archiving_loses_nothing(
    house: House, kill: Callable[[pytest.MonkeyPatch], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        await shell(running, "echo kept > file")
        with monkeypatch.context() as deadly:
            await kill(deadly)
            with pytest.raises(Killed):
                await sandboxes.archiving.archive(running.id)

    async with house.open_sandboxes() as sandboxes:
        await sandboxes.archiving.tidy()
        if kill is kill_before_removal:
            assert not (house.config.home / "sandboxes" / running.id.hex).exists()
        again = await sandboxes.bring_up(running.id, house.reports.append)
        assert await shell(again, "cat file") == "kept\n"
        await sandboxes.archiving.archive(running.id)
        assert len(files_of(house, running.id)) == 1, "what the killed one left is gone"


async def test_a_server_killed_while_restoring_begins_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        await shell(running, "echo kept > file")
        await sandboxes.archiving.archive(running.id)
        folder = house.config.home / "sandboxes" / running.id.hex

        async def half(_: object, sandbox_id: UUID, __: object) -> None:
            (folder / "workspace" / "project").mkdir(parents=True)
            (folder / "workspace" / "project" / "half").touch()
            raise Killed

        with monkeypatch.context() as deadly:
            deadly.setattr(ProcessBackend, "restore", half)
            with pytest.raises(Killed):
                await sandboxes.bring_up(running.id, house.reports.append)

    async with house.open_sandboxes() as sandboxes:
        again = await sandboxes.bring_up(running.id, house.reports.append)
        assert await shell(again, "ls") == "file\n"


async def test_what_has_slept_for_days_is_archived(house: House) -> None:
    house.config = house.config.model_copy(update={"sandbox_archive_days": 3})
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        await sandboxes.pause(running.id)
        await sandboxes.archiving.tidy()
        assert await status_of(house, running.id) == SandboxStatus.PAUSED

        async with house.database.session() as session:
            long_ago = now().replace(year=now().year - 1)
            await session.execute(update(Sandbox).values(updated_at=long_ago))
        await sandboxes.archiving.tidy()

        assert await status_of(house, running.id) == SandboxStatus.ARCHIVED


async def test_a_sandbox_that_was_woken_during_the_round_is_not_archived(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.config = house.config.model_copy(update={"sandbox_archive_days": 3})
    async with house.open_sandboxes() as sandboxes:
        first, woken = [await house.start(sandboxes) for _ in range(2)]
        for running, days in ((first, 9), (woken, 8)):
            await sandboxes.pause(running.id)
            changes = update(Sandbox).where(Sandbox.id == running.id)
            async with house.database.session() as session:
                await session.execute(changes.values(updated_at=now() - timedelta(days=days)))
        write = archives_module.Archives.write

        async def wake_meanwhile(archives: archives_module.Archives, sandbox: Sandbox, *rest: Any) -> Archive:
            if sandbox.id == first.id:
                await sandboxes.wake(woken.id)
            return await write(archives, sandbox, *rest)

        monkeypatch.setattr(archives_module.Archives, "write", wake_meanwhile)
        await sandboxes.archiving.tidy()

        assert await status_of(house, first.id) == SandboxStatus.ARCHIVED
        assert await status_of(house, woken.id) == SandboxStatus.RUNNING
        assert await shell(sandboxes.running(woken.id), "echo works") == "works\n"


async def test_a_deleted_snapshot_takes_no_file_that_is_being_written(
    house: House, sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await house.start(sandboxes)
    old = await sandboxes.archiving.snapshot(running.id, "old")
    finish, loop = ArchiveWriter.finish, asyncio.get_running_loop()

    def delete_meanwhile(writer: ArchiveWriter) -> WrittenArchive:
        asyncio.run_coroutine_threadsafe(sandboxes.archives.remove(old), loop).result()
        return finish(writer)

    monkeypatch.setattr(ArchiveWriter, "finish", delete_meanwhile)
    new = await sandboxes.archiving.snapshot(running.id, "new")

    assert [file.name for file in files_of(house, running.id)] == [f"{new.id.hex}.tar.gz"]


async def test_a_snapshot_deleted_before_the_row_of_an_archive_is_stored_loses_no_workspace(
    house: House, sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await house.start(sandboxes)
    await shell(running, "echo kept > file")
    old = await sandboxes.archiving.snapshot(running.id, "old")
    replace = archives_module.Archives.replace_workspace

    async def delete_first(archives: archives_module.Archives, sandbox_id: UUID, archive: Archive) -> None:
        await archives.remove(old)
        await replace(archives, sandbox_id, archive)

    monkeypatch.setattr(archives_module.Archives, "replace_workspace", delete_first)
    await sandboxes.archiving.archive(running.id)

    assert len(files_of(house, running.id)) == 1, "the snapshot is gone, the archive is there"
    again = await sandboxes.bring_up(running.id, house.reports.append)
    assert await shell(again, "cat file") == "kept\n"


async def test_archives_go_with_their_sandbox(house: House, sandboxes: Sandboxes) -> None:
    running = await house.start(sandboxes)
    await sandboxes.archiving.snapshot(running.id, None)
    await sandboxes.archiving.archive(running.id)

    await sandboxes.delete(running.id)

    assert files_of(house, running.id) == []
    assert await rows_of(house, running.id) == []


@pytest.mark.docker
async def test_a_container_is_archived_and_comes_back(docker_house: House, engine: DockerClient) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(
            running,
            "echo kept > file; ln file again; ln -s ../../../usr/bin/env link; mkfifo fifo; ln fifo fifo2;"
            "touch $'caf\\xe9'; mkdir closed; touch closed/in; chmod 500 closed; chmod 4755 file",
        )
        snapshot = await sandboxes.archiving.snapshot(running.id, None)
        assert await shell(running, "cat file") == "kept\n", "it goes on after it stood still"
        await sandboxes.check()
        assert is_up(sandboxes, running.id)

        await sandboxes.archiving.archive(running.id)

        assert not engine.containers.list(all=True, filters={"name": running.id.hex})
        assert not engine.volumes.list(filters={"name": name_of(running.id)})

        again = await sandboxes.bring_up(running.id, docker_house.reports.append)
        seen = await shell(
            again, "cat again; readlink link; ls | tr '\\n' ' '; stat -c '%u %a %h' file closed; ls closed"
        )
        assert seen == (
            "kept\n../../../usr/bin/env\nagain caf\udce9 closed file link 10001 755 2\n10001 500 2\nin\n"
        ).replace("\udce9", "\ufffd")
        await shell(again, "echo more > new; rm again")

        fork = await begun_from(docker_house, sandboxes, snapshot.id)
        assert await shell(fork, "cat again; ls ../conversations") == "kept\n"


async def begun_from(house: House, sandboxes: Sandboxes, snapshot_id: UUID) -> RunningSandbox:
    sandbox_id = uuid4()
    async with house.database.session() as session:
        await sandboxes.create(session, sandbox_id=sandbox_id, user_id=house.user_id, snapshot_id=snapshot_id)
    return await sandboxes.bring_up(sandbox_id, house.reports.append)


async def status_of(house: House, sandbox_id: UUID) -> SandboxStatus:
    row = await house.row(sandbox_id)
    assert row is not None
    return SandboxStatus(row.status)


async def rows_of(house: House, sandbox_id: UUID) -> list[Archive]:
    async with house.database.read() as session:
        return list(await session.scalars(select(Archive).where(Archive.sandbox_id == sandbox_id)))


def files_of(house: House, sandbox_id: UUID) -> list[Path]:
    folder = house.config.home / "archives" / sandbox_id.hex
    return sorted(folder.iterdir()) if folder.exists() else []


def is_up(sandboxes: Sandboxes, sandbox_id: UUID) -> bool:
    try:
        sandboxes.client(sandbox_id)
    except Conflict:
        return False
    return True
