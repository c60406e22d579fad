"""The sandbox image, where the engine is played by a small program called docker."""

import asyncio
import io
import os
import tarfile
from pathlib import Path

import pytest

from app_server.errors import StartFailure
from app_server.sandboxes import images
from app_server.sandboxes.images import BASE_IMAGE, build_context, ensure_image


class Engine:
    """What is there, by name; `docker` runs `script` with the subcommand in $1 and logs each call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.present: set[str] = {BASE_IMAGE}
        self.asked: list[str] = []
        self.lines: list[str] = []

    def install(self, script: str) -> None:
        program = self._folder / "docker"
        program.write_text(
            f'#!/bin/sh\necho "$DOCKER_BUILDKIT $*" >> {self._folder}/calls\n'
            f'case "$1" in buildx) exit 1;; build) cat > {self._folder}/context.tar;; esac\n{script}\n'
        )
        program.chmod(0o755)

    async def has_image(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.present

    def calls(self) -> str:
        return (self._folder / "calls").read_text()

    async def ensure(self, wanted: str | None = None) -> str:
        return await ensure_image(wanted, self.has_image, self.lines.append)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    for program in ("sh", "cat", "sleep"):
        (tmp_path / program).symlink_to(f"/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path))
    return Engine(tmp_path)


async def test_a_missing_image_is_built_and_each_line_reported(engine: Engine) -> None:
    engine.install("echo Step 1; echo Step 2 >&2")
    tag = await engine.ensure()

    assert tag.startswith("slipway-sandbox:")
    assert engine.lines[-2:] == ["Step 1", "Step 2"]
    assert f"0 build --tag {tag}" in engine.calls(), "without buildx the legacy builder is asked for"


async def test_an_image_that_is_there_is_not_built_again(engine: Engine) -> None:
    engine.install("exit 0")
    tag = await engine.ensure()
    engine.present.add(tag)
    before = engine.calls()

    assert await engine.ensure() == tag
    assert engine.calls() == before


async def test_two_starts_at_once_share_one_build(engine: Engine, tmp_path: Path) -> None:
    engine.install(f'[ "$1" = build ] || exit 1; echo built >> {tmp_path}/builds; sleep 0.3')

    async def note_built(name: str) -> bool:
        return name == BASE_IMAGE or (tmp_path / "builds").exists()

    await asyncio.gather(*(ensure_image(None, note_built, engine.lines.append) for _ in range(2)))

    assert (tmp_path / "builds").read_text() == "built\n"
    assert "Waiting for the image build that runs already" in engine.lines


async def test_a_failed_build_carries_its_last_lines(engine: Engine) -> None:
    engine.install("echo 'E: Unable to locate package gti'; exit 100")
    with pytest.raises(StartFailure) as failure:
        await engine.ensure()

    assert failure.value.code == "sandbox_image_build_failed"
    assert failure.value.output.endswith("E: Unable to locate package gti")


async def test_without_the_docker_command_the_fix_is_to_install_it(engine: Engine) -> None:
    with pytest.raises(StartFailure) as failure:
        await engine.ensure()

    assert failure.value.code == "sandbox_image_build_failed"
    assert "Install the Docker CLI" in failure.value.fix


async def test_without_base_image_and_registry_the_fix_names_the_script(engine: Engine) -> None:
    engine.present.clear()
    engine.install("echo 'no such host'; exit 1")
    with pytest.raises(StartFailure) as failure:
        await engine.ensure()

    assert f"pull {BASE_IMAGE}" in engine.calls()
    assert "containers/base/build.sh" in failure.value.fix
    assert "no such host" in failure.value.output


async def test_a_named_image_must_exist(engine: Engine) -> None:
    engine.present.add("mine:1")

    assert await engine.ensure("mine:1") == "mine:1"
    with pytest.raises(StartFailure) as failure:
        await engine.ensure("mine:2")
    assert failure.value.code == "sandbox_image_missing"


async def test_a_cancelled_start_ends_its_build(engine: Engine, tmp_path: Path) -> None:
    engine.install(f'[ "$1" = build ] || exit 1; echo $$ > {tmp_path}/pid; echo started; sleep 60')
    started = asyncio.Event()

    def report(line: str) -> None:
        if line == "started":
            started.set()

    start = asyncio.create_task(ensure_image(None, engine.has_image, report))
    await started.wait()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_build_context_is_small_and_the_same_each_time() -> None:
    context = build_context()
    with tarfile.open(fileobj=io.BytesIO(context)) as tar:
        names = tar.getnames()

    assert context == build_context()
    assert len(context) < 4 * 1024**2
    assert images.DOCKERFILE in names
    assert not [name for name in names if name.startswith(("app_server", "tests")) or name.endswith(".pyc")]
