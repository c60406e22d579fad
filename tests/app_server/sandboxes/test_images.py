"""Tests of building the sandbox image. A small program called docker replaces the Docker engine."""

import asyncio
import gzip
import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from app_server.core.config import DEFAULT_BASE_IMAGE, Config, SandboxFlavour
from app_server.core.errors import StartFailure
from app_server.sandbox_images import preflight
from app_server.sandbox_images.base_image import BaseImage, BuildFiles, BuildLimits
from app_server.sandbox_images.definition import (
    AGENT_SERVER,
    DEPENDENCIES,
    BuildInputs,
    build_context,
    current_images,
    image_definition,
)
from app_server.sandbox_images.images import ensure_image
from app_server.sandbox_images.preflight import NEEDED_BYTES
from app_server.sandbox_images.running_builds import Builds
from tests.support.patience import PATIENCE_SECONDS


class Engine:
    """Replaces the Docker engine. `present`: the names of the images that it has. `install` writes a program
    `docker` that logs each call and runs `script` with the subcommand in $1.

    `image_platform`: the platform of the base image.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.present: set[str] = {DEFAULT_BASE_IMAGE}
        self.asked: list[str] = []
        self.lines: list[str] = []
        self.image_platform = "linux/amd64"
        self.size = 1
        self.base = DEFAULT_BASE_IMAGE

    def install(self, script: str) -> None:
        program = self._folder / "docker"
        program.write_text(
            f'#!/bin/sh\necho "$DOCKER_BUILDKIT $*" >> {self._folder}/calls\n'
            'case "$1" in buildx) exit 1;; build) cat > /dev/null;;\n'
            f"info) echo {self._folder}; exit;; version) echo linux/amd64; exit;;\n"
            f'image) case "$*" in *Size*) echo {self.size};; *) echo {self.image_platform};; esac; exit;;\n'
            "run) echo libc=glibc; echo packages=apt; exit;; esac\n"
            f"{script}\n"
        )
        program.chmod(0o755)

    async def has_image(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.present

    def calls(self) -> str:
        return (self._folder / "calls").read_text()

    def builds(self) -> list[str]:
        return [call for call in self.calls().splitlines() if " build " in call]

    async def ensure(self, wanted: str | None = None, flavour: SandboxFlavour = "slim") -> str:
        config = Config(sandbox_image=wanted, sandbox_flavour=flavour, sandbox_base_image=self.base)
        return await ensure_image(config, self.has_image, self.lines.append)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    for program in ("sh", "cat", "sleep"):
        (tmp_path / program).symlink_to(f"/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path))
    return Engine(tmp_path)


async def test_a_missing_image_is_built_and_each_line_reported(engine: Engine) -> None:
    engine.install("echo Step 1; echo Step 2 >&2")
    tag = await engine.ensure()

    assert tag.startswith("slipway-sandbox:slim-")
    assert engine.lines[-4:-1] == [
        f"Building the sandbox image {tag} (once per version, seconds)",
        "Step 1",
        "Step 2",
    ]
    assert f"0 build --tag {tag}" in engine.calls(), "without buildx the legacy builder is asked for"


@pytest.mark.parametrize("flavour", ["full", "slim"])
async def test_dependencies_are_built_first_and_the_agent_server_on_top(
    flavour: SandboxFlavour, engine: Engine
) -> None:
    engine.install("exit 0")
    tag = await engine.ensure(flavour=flavour)
    lower, upper = engine.builds()
    definition = image_definition(flavour, DEFAULT_BASE_IMAGE)

    assert f"--tag {definition.dependencies} " in lower
    assert f"--target {flavour} --build-arg BASE_IMAGE={DEFAULT_BASE_IMAGE}" in lower
    assert tag == definition.image
    assert f"--tag {tag} " in upper
    assert f"DEPENDENCIES={definition.dependencies}" in upper


async def test_dependencies_that_are_there_are_not_built_again(engine: Engine) -> None:
    engine.install("exit 0")
    engine.present = {image_definition("slim", DEFAULT_BASE_IMAGE).dependencies}
    tag = await engine.ensure()

    [build] = engine.builds()
    assert f"--tag {tag} " in build


def test_flavours_share_no_name_and_all_of_this_version_are_current() -> None:
    names = [
        name
        for definition in (
            image_definition("full", DEFAULT_BASE_IMAGE),
            image_definition("slim", DEFAULT_BASE_IMAGE),
        )
        for name in (definition.dependencies, definition.image)
    ]

    assert len(set(names)) == 4
    assert current_images(Config(sandbox_image="mine:1")) == {*names, "mine:1"}


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
        return name == DEFAULT_BASE_IMAGE or (tmp_path / "builds").exists()

    await asyncio.gather(*(ensure_image(Config(), note_built, engine.lines.append) for _ in range(2)))

    assert (tmp_path / "builds").read_text() == "built\nbuilt\n", "dependencies, and what is on top"
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

    assert f"pull {DEFAULT_BASE_IMAGE}" in engine.calls()
    assert "containers/base/build.sh" in failure.value.fix
    assert "no such host" in failure.value.output


async def test_a_custom_base_is_pulled_and_built_on(engine: Engine) -> None:
    engine.install("exit 0")
    engine.base = "registry.example/tools:7"
    tag = await engine.ensure()
    lower, _ = engine.builds()

    assert "pull registry.example/tools:7" in engine.calls()
    assert "BASE_IMAGE=registry.example/tools:7" in lower
    assert tag != image_definition("slim", DEFAULT_BASE_IMAGE).image


async def test_a_custom_base_that_cannot_be_pulled_is_not_made_from_debian(engine: Engine) -> None:
    engine.install("echo 'no such host'; exit 1")
    engine.base = "registry.example/tools:7"
    with pytest.raises(StartFailure) as failure:
        await engine.ensure()

    assert "docker load" in failure.value.fix
    assert "debootstrap" not in failure.value.fix


async def test_a_base_for_other_processors_is_found_before_the_build(engine: Engine) -> None:
    engine.image_platform = "linux/arm64"
    engine.install("exit 0")
    with pytest.raises(StartFailure) as failure:
        await engine.ensure()

    assert failure.value.code == "sandbox_base_wrong_architecture"
    assert failure.value.fix.endswith(f"docker pull --platform linux/amd64 {DEFAULT_BASE_IMAGE}")
    assert engine.builds() == []


async def test_a_full_disk_is_found_before_the_build(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDED_BYTES, "full", 2**62)
    engine.install("exit 0")
    with pytest.raises(StartFailure) as failure:
        await engine.ensure(flavour="full")

    assert failure.value.code == "sandbox_image_no_room"
    assert "slipway images prune" in failure.value.fix
    assert engine.builds() == []


def chosen(text: str, limits: BuildLimits = BuildLimits()) -> BaseImage:  # noqa: B008 (it is frozen)
    """Returns the base image that is built from this Dockerfile."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    name = f"slipway-base:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    files = BuildFiles(name, "Dockerfile", {"TOOL": "axe"}, "last", files=0, bytes=0)

    async def packed() -> tuple[BuildFiles, bytes]:
        return files, gzip.compress(tar.getvalue())

    return BaseImage(name, limits, packed)


async def test_a_base_of_a_users_choice_is_built_within_limits_and_ours_on_top(engine: Engine) -> None:
    engine.install("exit 0")
    base = chosen("FROM debian\n", BuildLimits(60, None, "none"))
    image = await ensure_image(Config(), engine.has_image, engine.lines.append, base, Builds())
    first, lower, upper = engine.builds()
    definition = image_definition(Config().sandbox_flavour, base.name)

    assert (
        f"--tag {base.name} --file=Dockerfile --force-rm --build-arg=TOOL=axe --target=last --network=none"
        in first
    )
    assert f"BASE_IMAGE={base.name}" in lower
    assert f"--tag {image} " in upper
    assert image == definition.image


async def test_starts_that_want_the_same_image_hear_of_one_build_and_others_wait(
    engine: Engine, tmp_path: Path
) -> None:
    engine.install(
        f'[ "$1" = build ] || exit 1; echo $4 >> {tmp_path}/builds; echo Step; '
        f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    )
    said: dict[str, list[str]] = {"one": [], "same": [], "other": []}
    builds = Builds()

    async def start(name: str, text: str, until: str) -> asyncio.Task[str]:
        work = ensure_image(Config(), engine.has_image, said[name].append, chosen(text), builds)
        task = asyncio.create_task(work)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while until not in said[name]:  # noqa: ASYNC110 (the program tells nobody)
                await asyncio.sleep(0.01)
        return task

    starts = [
        await start("one", "FROM a", "Step"),
        await start("same", "FROM a", "Step"),
        await start("other", "FROM b", "Waiting for the build of another image"),
    ]
    assert "Step" not in said["other"]
    # If the start that began the build is cancelled, the other start still gets the image.
    starts[0].cancel()
    (tmp_path / "go").touch()
    await asyncio.gather(*starts[1:])
    assert len(engine.builds()) == 2 * 3


async def test_a_base_that_is_too_large_is_removed_and_said_so(engine: Engine) -> None:
    engine.size = 3 * 1024**3
    engine.install("exit 0")
    base = chosen("FROM debian\n", BuildLimits(60, 1024**3))
    with pytest.raises(StartFailure) as failure:
        await ensure_image(Config(), engine.has_image, engine.lines.append, base, Builds())

    assert failure.value.code == "sandbox_base_too_large"
    assert "3.0 GiB" in failure.value.cause
    assert f"image rm {base.name}" in engine.calls()


async def test_a_base_that_fills_the_disk_is_ended_before_that(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.install('[ "$1" = build ] || exit 1; echo started; sleep 60')
    monkeypatch.setattr(preflight, "DISK_CHECK_SECONDS", 0.01)
    began = asyncio.Event()

    def report(line: str) -> None:
        if line == "started":
            monkeypatch.setattr(preflight, "MIN_FREE_BYTES", 2**62)
            began.set()

    with pytest.raises(StartFailure) as failure:
        await ensure_image(Config(), engine.has_image, report, chosen("FROM debian\n"), Builds())
    assert began.is_set()
    assert failure.value.code == "sandbox_image_no_room"
    assert "ended the build" in failure.value.cause


async def test_a_base_that_cannot_be_built_fails_with_the_last_of_its_output(engine: Engine) -> None:
    engine.install('[ "$1" = build ] && echo "no such package" && exit 1; exit 0')
    with pytest.raises(StartFailure) as failure:
        await ensure_image(Config(), engine.has_image, engine.lines.append, chosen("FROM x\n"), Builds())

    assert failure.value.code == "sandbox_base_build_failed"
    assert "no such package" in failure.value.output


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

    start = asyncio.create_task(ensure_image(Config(), engine.has_image, report))
    await started.wait()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("ingredients", [DEPENDENCIES, AGENT_SERVER], ids=["dependencies", "agent server"])
def test_the_build_context_is_small_and_the_same_each_time(ingredients: BuildInputs) -> None:
    context = build_context(ingredients)
    with tarfile.open(fileobj=io.BytesIO(context)) as tar:
        names = tar.getnames()

    assert context == build_context(ingredients)
    assert len(context) < 4 * 1024**2
    assert ingredients.dockerfile in names
    assert not [name for name in names if name.startswith(("app_server", "tests")) or name.endswith(".pyc")]


def test_a_change_of_our_code_leaves_what_dependencies_are_made_from() -> None:
    with tarfile.open(fileobj=io.BytesIO(build_context(DEPENDENCIES))) as tar:
        assert not [name for name in tar.getnames() if name.startswith("agent_runtime")]
