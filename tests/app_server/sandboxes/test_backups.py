"""What becomes of a sandbox whose host is lost: by its backup, and by how far its log has come."""

from uuid import UUID

import pytest
from sqlalchemy import update

from app_server.errors import Conflict
from app_server.sandboxes.models import Archive, ArchiveKind, Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes
from app_server.sandboxes.workspace_tar import PARTS, Sink
from tests.app_server.sandboxes.conftest import House


async def lose(house: House, sandbox_id: UUID) -> None:
    async with house.database.session() as session:
        changes = {"status": SandboxStatus.MISSING}
        await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(changes))


async def back_up(house: House, sandboxes: Sandboxes, sandbox_id: UUID, position: int) -> Archive:
    async def fill(sink: Sink) -> None:
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


async def test_one_without_a_backup_waits_for_its_host(house: House) -> None:
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


async def test_one_whose_log_went_on_after_the_backup_leaves_a_snapshot_of_its_files(house: House) -> None:
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


async def test_one_with_a_current_backup_begins_from_it(house: House) -> None:
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
