"""Tests of a sandbox whose host is lost: whether it can continue depends on its backup and on the last event
of its log.
"""

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import update

from agent_runtime.wire import API_KEY_HEADER
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.errors import BadGateway, Conflict, StartFailure
from app_server.sandbox_backends.workspace_tar import PARTS, TarSink
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.sandboxes.auth import authenticate
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, shell


async def lose(house: House, sandbox_id: UUID) -> None:
    async with house.database.session() as session:
        changes = {"status": SandboxStatus.MISSING}
        await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(changes))


async def back_up(house: House, sandboxes: Sandboxes, sandbox_id: UUID, position: int) -> Archive:
    async def fill(sink: TarSink) -> None:
        await sandboxes._machines.backend.export(sandbox_id, PARTS, sink)

    row = await house.row(sandbox_id)
    assert row
    backup = await sandboxes.archives.write(row, ArchiveKind.BACKUP, fill)
    backup.position = position
    await sandboxes.archives.replace_backup(backup)
    return backup


def at(position: int, sandboxes: Sandboxes) -> None:
    async def tell(_sandbox_id: UUID) -> int:
        return position

    sandboxes.listen(position=tell)


async def test_a_sandbox_without_a_backup_waits_for_its_host(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(7, sandboxes)
        sandbox = await house.start(sandboxes)
        await lose(house, sandbox.id)

        with pytest.raises(Conflict) as refused:
            await sandboxes.backups.go_on_elsewhere(sandbox.id)

        assert refused.value.code == "sandbox_host_lost"
        row = await house.row(sandbox.id)
        assert row
        assert row.status == SandboxStatus.MISSING


async def test_a_sandbox_whose_log_is_newer_than_its_backup_leaves_a_snapshot_of_its_files(
    house: House,
) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(8, sandboxes)
        sandbox = await house.start(sandboxes)
        await back_up(house, sandboxes, sandbox.id, position=7)
        await lose(house, sandbox.id)

        for _ in range(2):
            with pytest.raises(Conflict) as refused:
                await sandboxes.backups.go_on_elsewhere(sandbox.id)

        assert refused.value.code == "backup_outdated"
        (name,) = await sandboxes.archives.snapshot_names(sandbox.id)
        assert name
        assert name.startswith("Backup of")


async def test_a_sandbox_with_a_current_backup_starts_from_it(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(7, sandboxes)
        sandbox = await house.start(sandboxes)
        await back_up(house, sandboxes, sandbox.id, position=3)
        backup = await back_up(house, sandboxes, sandbox.id, position=7)
        await lose(house, sandbox.id)

        await sandboxes.backups.go_on_elsewhere(sandbox.id)

        row = await house.row(sandbox.id)
        assert row
        assert (row.status, row.archive_id) == (SandboxStatus.ARCHIVED, backup.id)
        (file,) = (house.config.home / "archives" / sandbox.id.hex).iterdir()
        assert file.name.startswith(backup.id.hex), "one backup is kept"


async def test_with_the_users_consent_a_sandbox_with_a_newer_log_starts_from_its_backup(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(9, sandboxes)
        sandbox = await house.start(sandboxes)
        backup = await back_up(house, sandboxes, sandbox.id, position=7)
        await lose(house, sandbox.id)

        with pytest.raises(Conflict) as refused:
            await sandboxes.backups.go_on_elsewhere(sandbox.id)
        assert refused.value.extra == {"backup_at": backup.created_at.isoformat(), "later_events": 2}
        assert "2 later events" in refused.value.detail
        await sandboxes.backups.go_on_elsewhere(sandbox.id, from_backup=True)

        row = await house.row(sandbox.id)
        assert row
        assert (row.status, row.archive_id) == (SandboxStatus.ARCHIVED, backup.id)


async def test_what_its_lost_host_still_has_to_say_is_refused_once_it_goes_on_elsewhere(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(7, sandboxes)
        sandbox = await house.start(sandboxes)
        await back_up(house, sandboxes, sandbox.id, position=7)
        key = str(sandbox.client._headers[API_KEY_HEADER])
        await lose(house, sandbox.id)

        async def opens() -> bool:
            async with house.database.read() as session:
                return await authenticate(session, key) is not None

        assert not await opens()
        await sandboxes.backups.go_on_elsewhere(sandbox.id)
        assert not await opens(), "before it is up elsewhere"
        again = await sandboxes.bring_up(sandbox.id, house.reports.append)
        assert not await opens(), "nor when it is"
        assert await again.client.is_healthy()


async def test_it_is_found_only_after_its_logs_are_restored_and_an_interrupted_start_is_repeated(
    house: House,
) -> None:
    async with house.open_sandboxes() as sandboxes:
        at(9, sandboxes)
        sandbox = await house.start(sandboxes)
        backup = await back_up(house, sandboxes, sandbox.id, position=7)
        await shell(sandbox, "echo later > later")
        await lose(house, sandbox.id)
        await sandboxes.backups.go_on_elsewhere(sandbox.id, from_backup=True)
        told: list[UUID] = []

        async def catch_up(running: RunningSandbox, archive: Archive) -> None:
            told.append(archive.id)
            with pytest.raises(Conflict):
                sandboxes.client(running.id)
            await shell(running, "test ! -e half && touch half")
            if len(told) == 1:
                raise BadGateway("It went away.")

        sandboxes.listen(on_restored=catch_up)
        with pytest.raises(StartFailure) as failed:
            await sandboxes.bring_up(sandbox.id, house.reports.append)
        assert failed.value.code == "log_not_restored"
        row = await house.row(sandbox.id)
        assert row
        assert (row.status, row.archive_id) == (SandboxStatus.ERROR, backup.id)

        again = await sandboxes.bring_up(sandbox.id, house.reports.append)

        assert told == [backup.id, backup.id]
        assert "later" not in await shell(again, "ls")
        row = await house.row(sandbox.id)
        assert row
        assert (row.status, row.archive_id) == (SandboxStatus.RUNNING, None)


async def test_a_server_killed_while_logs_are_caught_up_leaves_a_start_that_begins_from_the_backup_again(
    house: House,
) -> None:
    begun, times = asyncio.Event(), 0

    async def catch_up(running: RunningSandbox, _archive: Archive) -> None:
        nonlocal times
        times += 1
        await shell(running, "test ! -e half && touch half")
        if times == 1:
            begun.set()
            await asyncio.Event().wait()

    async with house.open_sandboxes(close=False) as sandboxes:
        at(9, sandboxes)
        sandbox = await house.start(sandboxes)
        await back_up(house, sandboxes, sandbox.id, position=7)
        await lose(house, sandbox.id)
        await sandboxes.backups.go_on_elsewhere(sandbox.id, from_backup=True)
        sandboxes.listen(on_restored=catch_up)
        starting = asyncio.create_task(sandboxes.bring_up(sandbox.id, house.reports.append))
        await begun.wait()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    async with house.open_sandboxes() as sandboxes:
        sandboxes.listen(on_restored=catch_up)
        again = await sandboxes.bring_up(sandbox.id, house.reports.append)

        assert times == 2
        assert await shell(again, "ls") == "half\n"
        row = await house.row(sandbox.id)
        assert row
        assert (row.status, row.archive_id) == (SandboxStatus.RUNNING, None)
