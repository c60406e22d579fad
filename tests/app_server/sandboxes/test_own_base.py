"""Tests of base images that are built from a Dockerfile, in a real Docker engine."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from docker import DockerClient

from app_server.core.config import DEFAULT_BASE_IMAGE, Config
from app_server.core.errors import BadRequest, StartFailure
from app_server.sandbox_images.custom_base import ensure_custom_base, resolved_source
from app_server.sandbox_images.definition import current_images, image_definition
from app_server.sandbox_images.docker_build import has_buildx
from app_server.sandbox_images.images import ensure_image
from app_server.sandbox_images.preflight import is_present

DOCKERFILE = f"""FROM {DEFAULT_BASE_IMAGE} AS tools
ARG TOOL
COPY . /all
RUN echo "$TOOL" > /tool
FROM scratch
LABEL only=last
"""


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """Returns a build context with unique content, so that no image of it exists yet."""
    folder = tmp_path / "context"
    for name, text in {
        "Dockerfile": DOCKERFILE,
        "unique": uuid4().hex,
        "a/b/c.txt": "c",
        "a/b/d.log": "d",
        "e/f.log": "f",
        "run.sh": "#!/bin/sh\n",
        ".env": "SECRET=1",
        ".dockerignore": "**/*.log\n!e/*.log\n.env\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a/b")
    return folder


@pytest.fixture
def made(engine: DockerClient) -> Iterator[list[str]]:
    """Yields a list. The test adds the names of its images, which are removed at the end."""
    names: list[str] = []
    yield names
    for name in names:
        engine.images.remove(name, force=True)


@pytest.mark.docker
async def test_a_base_is_built_once_from_what_docker_itself_would_take(
    context: Path, made: list[str]
) -> None:
    lines: list[str] = []
    source = resolved_source(context / "Dockerfile", arguments={"TOOL": "hammer 1.0"}, target="tools")
    name = await ensure_custom_base(source, "slim", lines.append)
    made.append(name)
    first = len(lines)
    again = await ensure_custom_base(source, "slim", lines.append)
    by_docker = f"slipway-test-base:{uuid4().hex[:12]}"
    made.append(by_docker)
    environment = {**os.environ, "DOCKER_BUILDKIT": "1" if await has_buildx("docker") else "0"}
    command = ["docker", "build", "--target", "tools", "--tag", by_docker, str(context)]
    await asyncio.to_thread(subprocess.run, command, env=environment, check=True, capture_output=True)

    assert (again, len(lines)) == (name, first)
    assert lines[0].startswith(f"Building {name} from {source.dockerfile} (")
    look = "find /all -printf '%P %y %m %l\\n' | sort; find /all -type f -exec md5sum {} + | sort"
    assert _run(name, "cat /tool") == "hammer 1.0\n"
    assert _run(name, look) == _run(by_docker, look)


@pytest.mark.docker
async def test_a_build_that_fails_has_a_code_and_leaves_nothing(context: Path, engine: DockerClient) -> None:
    lines: list[str] = []
    command = f"echo no such tool {uuid4().hex} >&2; exit 3"
    (context / "Dockerfile").write_text(f"FROM {DEFAULT_BASE_IMAGE}\nRUN {command}\n")
    with pytest.raises(StartFailure) as failure:
        await ensure_custom_base(resolved_source(context / "Dockerfile"), "slim", lines.append)

    assert failure.value.code == "sandbox_base_build_failed"
    assert "Dockerfile" in failure.value.cause
    assert "no such tool" in failure.value.output
    assert any("no such tool" in line for line in lines)
    assert not await is_present("docker", lines[0].split()[1])
    containers = await asyncio.to_thread(engine.api.containers, all=True)
    assert [each["Status"] for each in containers if command in each["Command"]] == []


@pytest.mark.docker
async def test_a_base_from_a_dockerfile_elsewhere_is_looked_into_like_any_other(
    context: Path, tmp_path: Path, made: list[str]
) -> None:
    elsewhere = tmp_path / "Containerfile"
    elsewhere.write_text("FROM scratch\nCOPY unique /\n")
    name = await ensure_custom_base(resolved_source(elsewhere, context), "slim", lambda _line: None)
    made.append(name)

    async def has_image(wanted: str) -> bool:
        return await is_present("docker", wanted)

    with pytest.raises(StartFailure) as failure:
        await ensure_image(Config(sandbox_base_image=name), has_image, lambda _line: None)
    assert failure.value.code == "sandbox_base_no_shell"
    assert "FROM" in failure.value.fix


async def test_an_engine_that_does_not_answer_is_named(
    context: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    with pytest.raises(StartFailure) as failure:
        await ensure_custom_base(resolved_source(context / "Dockerfile"), "slim", lambda _line: None)

    assert failure.value.code == "docker_unavailable"


def test_what_is_not_there_has_a_code(context: Path) -> None:
    with pytest.raises(BadRequest) as without_file:
        resolved_source(context)
    with pytest.raises(BadRequest) as without_context:
        resolved_source(context / "Dockerfile", context / "unique")

    assert without_file.value.code == "dockerfile_missing"
    assert without_context.value.code == "build_context_missing"


def test_a_custom_base_is_current_as_long_as_sandboxes_start_from_it() -> None:
    base = "slipway-base:0123456789ab"
    names = {image_definition("slim", base).image, image_definition("slim", base).dependencies, base}

    assert names <= current_images(Config(sandbox_base_image=base))
    assert not names & current_images(Config())


async def test_a_base_that_was_built_here_is_not_asked_of_registries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\n[ "$1" = info ] && echo {tmp_path}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    async def has_image(_name: str) -> bool:
        return False

    config = Config(sandbox_base_image="slipway-base:0123456789ab")
    with pytest.raises(StartFailure) as failure:
        await ensure_image(config, has_image, lambda _line: None)
    assert failure.value.code == "sandbox_base_missing"
    assert "--dockerfile" in failure.value.fix
    assert "pull" not in (tmp_path / "calls").read_text()


@pytest.mark.docker
async def test_arguments_and_target_are_part_of_what_a_base_is(context: Path, made: list[str]) -> None:
    (context / "Dockerfile").write_text("FROM scratch AS one\nARG A\nLABEL a=$A\nFROM one\nCOPY unique /\n")
    sources = [
        resolved_source(context / "Dockerfile", arguments={"A": "1"}),
        resolved_source(context / "Dockerfile", arguments={"A": "2"}),
        resolved_source(context / "Dockerfile", arguments={"A": "1"}, target="one"),
    ]
    made += [await ensure_custom_base(source, "slim", lambda _line: None) for source in sources]

    assert len(set(made)) == 3


def _run(image: str, command: str) -> str:
    # The command runs attached to the container, because the engine's log may lack the last line.
    docker = ["docker", "run", "--rm", "--network=none", image, "sh", "-c", command]
    return subprocess.run(docker, check=True, capture_output=True, text=True).stdout
