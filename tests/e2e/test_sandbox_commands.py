"""The commands `slipway sandboxes …` and `slipway images …` print the right output and exit codes."""

import asyncio
import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import docker
import pytest

from app_server.core.config import DEFAULT_BASE_IMAGE
from app_server.sandbox_images.custom_base import ensure_custom_base, resolved_source
from app_server.sandbox_images.definition import image_definition
from tests.support.forking import run_slipway
from tests.support.sandbox_image import FLAVOUR, sandbox_image
from tests.support.server import AppServerProcess, start_conversation, wait_for_status


def slipway(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return run_slipway(arguments, {**os.environ, **environment})


def test_a_sandbox_is_listed_read_and_put_to_sleep_beside_its_server(server: AppServerProcess) -> None:
    with server.client() as client:
        conversation_id = start_conversation(client, "Look around.", llm_profile="demo")
        wait_for_status(client, conversation_id, "finished")

        [up] = server.slipway("sandboxes", "ls").stdout.splitlines()
        log = server.slipway("sandboxes", "logs", conversation_id[:8]).stdout
        stopped = server.slipway("sandboxes", "stop", conversation_id[:8]).stdout
        [down] = server.slipway("sandboxes", "ls").stdout.splitlines()

    assert up.split()[:3] == [conversation_id, "RUNNING", "up"]
    assert up.split()[-1] == "process"
    assert "Application startup complete" in log
    assert stopped == f"Stopped {conversation_id}.\n"
    assert down.split()[:3] == [conversation_id, "PAUSED", "down"]


def test_a_sandbox_that_is_not_there_is_a_sentence_and_an_exit_code(server: AppServerProcess) -> None:
    for command in ("logs", "stop"):
        done = server.slipway("sandboxes", command, "feed", fails=True)

        assert (done.returncode, done.stdout) == (2, "")
        assert "sandboxes ls" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_home_without_a_server_is_a_sentence_and_an_exit_code(tmp_path: Path) -> None:
    done = slipway("sandboxes", "ls", "--home", str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert "slipway serve" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["build", "list", "prune"])
def test_images_without_an_engine_are_a_sentence_and_an_exit_code(command: str, tmp_path: Path) -> None:
    done = slipway("images", command, DOCKER_HOST=f"unix://{tmp_path}/nobody.sock")

    assert (done.returncode, done.stdout) == (2, "")
    assert "Fix: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.docker
def test_an_image_that_is_there_is_built_once_and_listed_as_the_current_one() -> None:
    image = sandbox_image()

    built = slipway("images", "build")
    listed = slipway("images", "list")

    assert (built.returncode, built.stdout) == (0, f"The sandbox image is ready: {image}\n")
    [line] = [each for each in listed.stdout.splitlines() if each.startswith(image)]
    assert line.split()[-1] == "current"


@pytest.mark.docker
def test_a_dockerfile_becomes_the_base_of_the_image_and_its_name_is_all_that_sandboxes_need(
    tmp_path: Path,
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {DEFAULT_BASE_IMAGE}\nLABEL unique={uuid4().hex}\n")
    base = asyncio.run(ensure_custom_base(resolved_source(tmp_path / "Dockerfile"), FLAVOUR, print))
    definition = image_definition(FLAVOUR, base)
    sandbox_image()
    with closing(docker.from_env(version="auto")) as engine:
        # An existing image in place of the dependencies image, which takes minutes to build.
        engine.images.get(image_definition(FLAVOUR, DEFAULT_BASE_IMAGE).dependencies).tag(
            definition.dependencies
        )
        try:
            built = slipway("images", "build", "--dockerfile", f"{tmp_path}/Dockerfile")
            listed = slipway("images", "list", SLIPWAY_SANDBOX_BASE_IMAGE=base)
            missing = slipway("images", "build", "--dockerfile", str(tmp_path))
        finally:
            for name in (definition.image, definition.dependencies, base):
                if engine.images.list(name=name):
                    engine.images.remove(name, force=True)

    assert built.returncode == 0, built.stderr
    assert f"SLIPWAY_SANDBOX_BASE_IMAGE={base}\n" in built.stdout
    assert built.stdout.endswith(f"The sandbox image is ready: {definition.image}\n")
    uses = {line.split()[0]: line.split()[-1] for line in listed.stdout.splitlines()}
    assert {uses[definition.image], uses[definition.dependencies], uses[base]} == {"current"}
    assert (missing.returncode, "Code: dockerfile_missing" in missing.stderr) == (2, True)


@pytest.mark.docker
def test_a_devcontainer_tells_what_it_leaves_out_and_its_image_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM scratch\nLABEL unique={uuid4().hex}\n")
    (tmp_path / ".devcontainer.json").write_text(
        '{"build": {"dockerfile": "Dockerfile"}, "runArgs": ["--privileged"], /* no more */}'
    )
    built = slipway("images", "build", "--devcontainer", str(tmp_path))
    [base] = re.findall(r"SLIPWAY_SANDBOX_BASE_IMAGE=(\S+)", built.stdout)
    with closing(docker.from_env(version="auto")) as engine:
        engine.images.remove(base, force=True)

    assert built.stdout.startswith("Not used: runArgs (a repository cannot choose the isolation")
    assert built.returncode == 2
    assert "Code: sandbox_base_no_shell" in built.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--dockerfile", "Dockerfile", "--devcontainer", "."),
        ("--context", "."),
    ],
    ids=["both", "a context alone"],
)
def test_options_that_do_not_go_together_are_a_sentence(options: tuple[str, ...]) -> None:
    done = slipway("images", "build", *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Dockerfile" in done.stderr
