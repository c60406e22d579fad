"""Tests of commands that the user runs in a conversation's sandbox."""

from pathlib import Path

import httpx

from tests.app_server.conversations.conftest import ROOT, Home
from tests.app_server.problems import assert_problem


async def test_a_command_runs_in_the_directory_that_it_names(home: Home, tmp_path: Path) -> None:
    conversation_id = (await home.ready(title="Look"))["id"]

    async def run(command: str, **fields: object) -> httpx.Response:
        body = {"command": command, **fields}
        return await home.client.post(f"{ROOT}/{conversation_id}/execute-bash-command", json=body)

    own = (await run("mkdir -p part && pwd")).raise_for_status().json()["stdout"].strip()
    relative = (await run("pwd", cwd="part")).raise_for_status().json()["stdout"].strip()
    absolute = (await run("pwd", cwd=str(tmp_path))).raise_for_status().json()["stdout"].strip()

    assert (relative, absolute) == (f"{own}/part", str(tmp_path))
    assert_problem(await run("pwd", cwd="missing"), 400, "directory_not_found")
    assert_problem(await run("touch made", directory="part"), 422, "validation_failed")
    assert "made" not in (await run("ls")).json()["stdout"]


async def test_a_path_that_the_file_system_refuses_is_an_error_of_the_request(home: Home) -> None:
    conversation_id = (await home.ready(title="Look"))["id"]
    reply = await home.client.get(f"{ROOT}/{conversation_id}/file", params={"file_path": "a" * 300})
    assert_problem(reply, 400, "file_system_refused")
