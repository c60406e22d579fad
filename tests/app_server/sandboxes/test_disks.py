"""Tests of containers whose workspaces have a size limit."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from docker import DockerClient

from app_server.core.errors import StartFailure
from app_server.sandbox_records.models import SandboxStatus
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.conftest import House, name_of, shell

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("probing")]

MEBIBYTE = 1024**2


@pytest.fixture
def limited_house(docker_house: House) -> House:
    docker_house.config = docker_house.config.model_copy(update={"sandbox_disk_bytes": 256 * MEBIBYTE})
    return docker_house


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[None]:
    """Attaches another program's disk to the first free loop device, which a sandbox's disk may have had
    before.
    """
    file = tmp_path / "other"
    with file.open("wb") as empty:
        empty.truncate(MEBIBYTE)
    device = losetup("--find", "--show", str(file))
    yield
    losetup("--detach", device)


@pytest.fixture
def refusing_mkfs(tmp_path: Path) -> Path:
    """Returns a folder for PATH with an mkfs.ext4 that always fails."""
    refusing = tmp_path / "bin" / "mkfs.ext4"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho 'no such file system here' >&2; exit 1\n")
    refusing.chmod(0o755)
    return refusing.parent


def losetup(*arguments: str) -> str:
    return subprocess.run(["losetup", *arguments], check=True, capture_output=True, text=True).stdout.strip()


async def is_detached(house: House) -> bool:
    """Returns whether no disk of the installation is attached. The kernel detaches a device only when no
    process uses it, and other tests on this machine read all devices.
    """
    return str(house.config.home) not in losetup("--list", "--noheadings", "--output", "BACK-FILE")


def disks_of(house: House) -> list[str]:
    return sorted(path.name for path in (house.config.home / "disks").iterdir())


async def test_a_workspace_is_limited_unless_the_limit_is_switched_off(
    docker_house: House, engine: DockerClient
) -> None:
    stray = docker_house.config.home / "disks" / f"slipway-trial-{uuid4().hex}.ext4"
    stray.parent.mkdir()
    stray.touch()
    os.utime(stray, (0, 0))
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        limit = sandboxes.workspace_limit()
        # Reserves 30 GB without writing: the command must fail before it takes space on this machine's disk.
        filled = await running.client.execute_command("fallocate -l 30G filler", cwd=running.working_root)

        assert (limit.bytes, limit.kept_by, limit.reason) == (20 * 1024**3, "disk", None)
        assert "No space left on device" in (filled.stderr or "")
        assert await shell(running, "rm -f filler && echo kept > file && cat file") == "kept\n"
        assert disks_of(docker_house) == [f"{name_of(running.id)}.device", f"{name_of(running.id)}.ext4"]
        assert not engine.volumes.list(filters={"name": stray.stem})


async def test_where_no_disk_can_be_mounted_the_workspace_is_watched_and_that_is_said(
    docker_house: House, refusing_mkfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(refusing_mkfs), prepend=":")
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        limit = sandboxes.workspace_limit()

        assert limit.kept_by == "watch"
        assert "no such file system here" in (limit.reason or "")
        assert disks_of(docker_house) == []
        assert await running.client.is_healthy()


async def test_a_container_without_a_disk_is_stopped_when_it_holds_too_much(docker_house: House) -> None:
    docker_house.config = docker_house.config.model_copy(update={"sandbox_disk_bytes": None})
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "fallocate -l 300M filler")

    # Existing workspaces keep the kind of storage with which they were created.
    docker_house.config = docker_house.config.model_copy(update={"sandbox_disk_bytes": 256 * MEBIBYTE})
    async with docker_house.open_sandboxes() as sandboxes:
        await sandboxes.bring_up(running.id, docker_house.reports.append)
        await sandboxes.measure()
        row = await docker_house.row(running.id)
        assert row is not None
        assert row.error is not None
        assert (row.status, row.error["code"]) == (SandboxStatus.ERROR, "sandbox_workspace_full")
        assert await sandboxes._machines.backend.find_dead([running.id]) == {running.id}


async def test_a_disk_that_cannot_be_made_fails_the_start_and_one_that_can_is_a_limit_and_keeps_its_files(
    limited_house: House,
    engine: DockerClient,
    refusing_mkfs: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    limited_house.config = limited_house.config.model_copy(update={"sandbox_frozen_minutes": 0})
    async with limited_house.open_sandboxes() as sandboxes:
        sandbox_id = await limited_house.create(sandboxes)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(refusing_mkfs), prepend=":")
            with pytest.raises(StartFailure, match="no such file system here") as caught:
                await sandboxes.bring_up(sandbox_id, limited_house.reports.append)
        row = await limited_house.row(sandbox_id)

        assert caught.value.code == "sandbox_disk_failed"
        assert "SLIPWAY_SANDBOX_DISK_BYTES" in caught.value.fix
        assert row is not None
        assert row.status == SandboxStatus.ERROR

        running = await sandboxes.bring_up(sandbox_id, limited_house.reports.append)
        assert await shell(running, "stat -f -c %T /workspace") == "ext2/ext3\n"
        filled = await running.client.execute_command(
            "head -c 600M /dev/zero > filler", cwd=running.working_root
        )
        size = int(await shell(running, "stat -c %s filler"))

        assert "No space left on device" in (filled.stderr or "")
        assert 0 < size < 256 * MEBIBYTE
        assert await running.client.is_healthy()
        await shell(running, "rm filler && echo kept > file")
        await sandboxes.pause(running.id)
        await sandboxes.rest()
        await eventually(lambda: is_detached(limited_house))
    request.getfixturevalue("other_disk")

    # The disk has its files also at another device. It stays in use, although new sandboxes get no disk.
    limited_house.config = limited_house.config.model_copy(update={"sandbox_disk_bytes": None})
    async with limited_house.open_sandboxes() as sandboxes:
        await sandboxes.wake(running.id)
        assert await shell(sandboxes.running(running.id), "cat file") == "kept\n"

        await sandboxes.delete(running.id)
        assert disks_of(limited_house) == []
        assert not engine.volumes.list(filters={"name": name_of(running.id)})
        await eventually(lambda: is_detached(limited_house))
