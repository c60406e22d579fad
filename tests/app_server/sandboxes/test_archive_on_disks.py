"""Tests of archives and snapshots of workspaces that are on separate disks, in a real Docker engine."""

from uuid import UUID, uuid4

import pytest

from app_server.core.errors import StartFailure
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, shell

pytestmark = pytest.mark.docker

MEBIBYTE = 1024**2


def limit(house: House, mebibytes: int) -> None:
    house.config = house.config.model_copy(update={"sandbox_disk_bytes": mebibytes * MEBIBYTE})


async def begin_from(house: House, sandboxes: Sandboxes, snapshot_id: UUID) -> UUID:
    sandbox_id = uuid4()
    async with house.database.session() as session:
        await sandboxes.create(session, sandbox_id=sandbox_id, user_id=house.user_id, snapshot_id=snapshot_id)
    return sandbox_id


async def test_an_archive_and_a_fork_need_disks_that_they_fit_on_and_say_so(
    docker_house: House,
) -> None:
    limit(docker_house, 256)
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "head -c 100M /dev/urandom > large; md5sum large > sum")
        snapshot = await sandboxes.archiving.snapshot(running.id, None)
        await sandboxes.archiving.archive(running.id)

    limit(docker_house, 64)
    async with docker_house.open_sandboxes() as sandboxes:
        fork = await begin_from(docker_house, sandboxes, snapshot.id)
        for sandbox_id in (running.id, fork):
            with pytest.raises(StartFailure) as refused:
                await sandboxes.bring_up(sandbox_id, docker_house.reports.append)
            assert refused.value.code == "sandbox_workspace_full", refused.value
            assert "64 MiB" in refused.value.cause
            assert "SLIPWAY_SANDBOX_DISK_BYTES" in refused.value.fix

    limit(docker_house, 256)
    async with docker_house.open_sandboxes() as sandboxes:
        for sandbox_id in (running.id, fork):
            again = await sandboxes.bring_up(sandbox_id, docker_house.reports.append)
            assert await shell(again, "md5sum -c sum") == "large: OK\n"
