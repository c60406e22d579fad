"""Tests of the typed client for agent servers: with a real agent server, and with another server."""

import subprocess
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from app_server.agent_client.client import AgentClient
from app_server.core.errors import AppError, BadGateway, Forbidden, NotFound
from tests.app_server.sandboxes.conftest import House
from tests.support.ports import free_port


async def test_files_commands_and_git_work_in_a_sandbox(house: House, tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_bytes(b"one\n" * 200_000)
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        client, root = running.client, running.working_root
        await client.upload_file(source, f"{root}/big.txt")
        size = await client.execute_command("wc -c < big.txt", cwd=root)
        commit = "git -c user.email=a@b.c -c user.name=A commit -qm one"
        committed = await client.execute_command(f"git init -q && git add . && {commit}", cwd=root)
        await client.execute_command("echo two > big.txt && echo new > new.txt", cwd=root)
        changes = {change.path: change.status for change in await client.git_changes(root)}
        diff = await client.git_diff(f"{root}/new.txt")
        patch = await client.git_patch(root)

        assert size.stdout is not None
        assert size.stdout.strip() == "800000"
        assert committed.exit_code == 0, committed.stderr
        assert changes == {"big.txt": "UPDATED", "new.txt": "ADDED"}
        assert diff.modified is not None
        assert diff.modified.strip() == "new"
        assert b"+new" in patch
        check = subprocess.run(["git", "apply", "--numstat"], input=patch, capture_output=True, check=True)  # noqa: ASYNC221
        assert b"new.txt" in check.stdout


async def test_a_conversation_that_is_not_there_is_not_found(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        with pytest.raises(NotFound) as refusal:
            await running.client.get_conversation(uuid4())

        assert refusal.value.code == "conversation_not_found"


async def test_a_path_outside_the_workspace_is_an_error_of_the_caller(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        with pytest.raises(Forbidden) as refusal:
            await running.client.git_diff("/etc/passwd")

        assert refusal.value.code == "path_not_allowed"


async def test_a_wrong_key_or_a_closed_port_is_an_agent_server_error(house: House) -> None:
    async with house.open_sandboxes() as sandboxes, httpx.AsyncClient(trust_env=False) as http:
        running = await house.start(sandboxes)
        wrong_key = AgentClient(http, running.client.url, "wrong")
        nobody = AgentClient(http, f"http://127.0.0.1:{free_port()}", "key")

        for client in (wrong_key, nobody):
            with pytest.raises(BadGateway) as refusal:
                await client.execute_command("true")
            assert refusal.value.code == "agent_server_error"
            assert isinstance(refusal.value, AppError)
            assert not await client.is_healthy()
