"""Tests of disks after a reboot of the host: loop devices are gone, and a device number can belong to
another file.
"""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from docker import DockerClient

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.errors import StartFailure
from app_server.docker_engine.labels import owner_of_helpers
from app_server.sandbox_backends.docker import loop_devices as loops
from app_server.sandbox_backends.docker.disks import Disks
from app_server.sandbox_backends.docker.host_reachability import LABEL
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.conftest import House, name_of, shell
from tests.support.sandbox_image import sandbox_image

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("probing")]

MEBIBYTE = 1024**2


def losetup(*arguments: str) -> str:
    return subprocess.run(["losetup", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def attached(folder: Path) -> dict[str, list[str]]:
    """Returns the loop devices of each file in this folder, by the file's name. Files that are deleted but
    still attached count, too.
    """
    told = losetup("--list", "--json", "--output", "NAME,BACK-FILE")
    found: dict[str, list[str]] = {}
    for each in json.loads(told)["loopdevices"] if told else []:
        if (each["back-file"] or "").startswith(f"{folder}/"):
            found.setdefault(Path(each["back-file"]).name, []).append(each["name"])
    return found


def disk_of(house: House, running: RunningSandbox) -> Path:
    return house.config.home / "disks" / f"{name_of(running.id)}.ext4"


async def power_is_cut(house: House, engine: DockerClient, *all_running: RunningSandbox) -> None:
    """Kills the containers and detaches all disks, as a power failure does."""
    folder = house.config.home / "disks"
    for running in all_running:
        await asyncio.to_thread(engine.containers.get(name_of(running.id)).kill)
    for devices in attached(folder).values():
        losetup("--detach", *devices)

    async def is_detached() -> bool:
        return not attached(folder)

    await eventually(is_detached)


async def attach_when_free(device: str, disk: Path) -> None:
    """Attaches the disk to this loop device. Another test may use the device for a while."""

    async def is_attached() -> bool:
        try:
            losetup(device, str(disk))
        except subprocess.CalledProcessError:
            return False
        return True

    await eventually(is_attached)


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    """Yields the disks of a separate folder. It has one disk, called `one`."""
    disks = Disks(tmp_path / "disks")
    disks.make("one", 16 * MEBIBYTE, owner=0, directories=["there"])
    yield disks
    for devices in attached(tmp_path / "disks").values():
        losetup("--detach", *devices)


@pytest.fixture
def mount_point(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "mounted"
    point.mkdir()
    yield point
    subprocess.run(["umount", "--quiet", str(point)], check=False)


async def test_each_wakes_on_its_own_disk_when_the_numbers_of_devices_have_changed_hands(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes(close=False) as sandboxes:
        one, other = await docker_house.start(sandboxes), await docker_house.start(sandboxes)
        await shell(one, "echo of one > file; sync file")
        await shell(other, "echo of the other > file; sync file")
        [device] = attached(docker_house.config.home / "disks")[disk_of(docker_house, one).name]
    await power_is_cut(docker_house, engine, one, other)
    await attach_when_free(device, disk_of(docker_house, other))

    async with docker_house.open_sandboxes() as sandboxes:
        again = [await sandboxes.bring_up(each.id, docker_house.reports.append) for each in (one, other)]

        assert [await shell(each, "cat file") for each in again] == ["of one\n", "of the other\n"]
        devices = attached(docker_house.config.home / "disks")
        assert {len(devices[disk_of(docker_house, each).name]) for each in (one, other)} == {1}


async def test_what_no_container_uses_is_detached_as_the_server_starts_and_nothing_else(
    docker_house: House, engine: DockerClient
) -> None:
    folder = docker_house.config.home / "disks"
    async with docker_house.open_sandboxes(close=False) as sandboxes:
        awake, halted, ended = [await docker_house.start(sandboxes) for _ in range(3)]
        await sandboxes.pause(halted.id)
        engine.containers.get(name_of(ended.id)).kill()
    gone = folder / "slipway-sandbox-gone.ext4"
    gone.write_bytes(bytes(MEBIBYTE))
    losetup("--find", str(gone))
    gone.unlink()
    elsewhere = docker_house.config.home / "elsewhere"
    elsewhere.write_bytes(bytes(MEBIBYTE))
    of_others = losetup("--find", "--show", str(elsewhere))

    try:
        async with docker_house.open_sandboxes() as sandboxes:

            async def only_two_are_left() -> bool:
                left = {disk_of(docker_house, each).name for each in (awake, halted)}
                return attached(folder).keys() == left

            await eventually(only_two_are_left)
            assert losetup(of_others)
            again = await sandboxes.bring_up(ended.id, docker_house.reports.append)
            assert await again.client.is_healthy()
    finally:
        losetup("--detach", of_others)


async def test_what_a_killed_server_was_trying_out_goes_with_all_that_it_made(
    docker_house: House, engine: DockerClient
) -> None:
    image = await asyncio.to_thread(sandbox_image)
    name = f"slipway-trial-{uuid4().hex}"
    disks = Disks(docker_house.config.home / "disks")
    disks.make(name, 16 * MEBIBYTE, owner=0, directories=[])
    engine.volumes.create(name, driver="local", driver_opts=dict(disks.attach(name)))
    volumes = {name: {"bind": "/workspace", "mode": "rw"}}
    engine.containers.create(image, name=f"slipway-carrier-{name}", volumes=volumes)
    label = {LABEL: owner_of_helpers(docker_house.config)}
    engine.containers.create(image, name=f"slipway-probe-{name}", labels=label)

    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)

        assert not engine.containers.list(all=True, filters={"name": name})
        assert not engine.volumes.list(filters={"name": name})
        assert attached(docker_house.config.home / "disks").keys() == {disk_of(docker_house, running).name}


def test_a_disk_that_was_attached_twice_is_used_through_one_device(disks: Disks, tmp_path: Path) -> None:
    disk = tmp_path / "disks" / "one.ext4"
    for _ in range(2):
        losetup("--find", str(disk))

    options = disks.attach("one")

    [device] = attached(disk.parent)[disk.name]
    assert str(Path(options["device"]).readlink()) == device


def test_a_disk_in_use_through_one_of_two_devices_goes_on_through_that(
    disks: Disks, tmp_path: Path, mount_point: Path
) -> None:
    disk = tmp_path / "disks" / "one.ext4"
    _unused, used = [losetup("--find", "--show", str(disk)) for _ in range(2)]
    subprocess.run(["mount", used, str(mount_point)], check=True)

    options = disks.attach("one")

    assert attached(disk.parent)[disk.name] == [used]
    assert str(Path(options["device"]).readlink()) == used


def test_a_disk_in_use_through_two_devices_is_refused(
    disks: Disks, tmp_path: Path, mount_point: Path
) -> None:
    disk = tmp_path / "disks" / "one.ext4"
    used = [losetup("--find", "--show", str(disk)) for _ in range(2)]
    subprocess.run(["mount", used[0], str(mount_point)], check=True)
    with Path(used[1]).open("rb"), pytest.raises(StartFailure) as refused:
        disks.attach("one")

    assert refused.value.code == "sandbox_disk_failed"
    assert all(device in refused.value.cause for device in used)


def test_a_device_that_is_still_let_go_of_stays_once_it_is_wanted_again(
    disks: Disks, tmp_path: Path, mount_point: Path
) -> None:
    device = str(Path(disks.attach("one")["device"]).readlink())
    subprocess.run(["mount", device, str(mount_point)], check=True)
    disks.detach("one")

    disks.attach("one")
    subprocess.run(["umount", str(mount_point)], check=True)

    assert attached(tmp_path / "disks") == {"one.ext4": [device]}, "or it would be another file's by now"


def test_a_new_disk_is_not_mistaken_for_an_old_one_with_the_same_name(disks: Disks, tmp_path: Path) -> None:
    disk = tmp_path / "disks" / "one.ext4"
    stale = str(Path(disks.attach("one")["device"]).readlink())
    disk.unlink()
    disks.make("one", 16 * MEBIBYTE, owner=0, directories=["new"])

    device = str(Path(disks.attach("one")["device"]).readlink())
    disks.detach_all(but=["one"])

    assert device != stale
    assert attached(disk.parent) == {disk.name: [device]}


def test_what_a_killed_server_left_of_a_disk_goes_with_the_next_attempt(disks: Disks, tmp_path: Path) -> None:
    unfinished = tmp_path / "disks" / "one.new-abc"
    (unfinished / "model").mkdir(parents=True)

    disks.make("one", 16 * MEBIBYTE, owner=0, directories=[])
    assert [path.name for path in (tmp_path / "disks").iterdir()] == ["one.ext4"]

    (unfinished / "model").mkdir(parents=True)
    disks.remove("one")
    assert [*(tmp_path / "disks").iterdir()] == []


def test_a_device_that_is_detached_already_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.write_bytes(bytes(MEBIBYTE))
    device = losetup("--find", "--show", str(file))
    losetup("--detach", device)

    loops.detach(device)

    assert loops.devices_of(file) == []
