"""A program that asks for a container where Docker is missing gets an error that says what to do."""

from pathlib import Path

import pytest

from agent_runtime import DockerWorkspace, WorkspaceError


def test_a_missing_command_says_what_to_install(tmp_path: Path):
    with pytest.raises(WorkspaceError, match="Install Docker") as caught:
        DockerWorkspace("any", docker=str(tmp_path / "docker"))

    assert caught.value.code == "docker_unavailable"


def test_an_engine_that_does_not_answer_says_so_in_its_own_words(tmp_path: Path):
    command = tmp_path / "docker"
    command.write_text("#!/bin/sh\necho Cannot connect to the Docker daemon >&2\nexit 1\n")
    command.chmod(0o755)

    with pytest.raises(WorkspaceError, match="Cannot connect to the Docker daemon") as caught:
        DockerWorkspace("any", docker=str(command))

    assert caught.value.code == "docker_unavailable"
