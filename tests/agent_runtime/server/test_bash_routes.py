"""Tests of the routes that run a shell command, return its output, and stop it."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.support.agent_app import agent_app, called
from tests.support.patience import PATIENCE_SECONDS
from tests.support.workspace_client import workspace_client

SEARCH = "/api/bash/bash_events/search"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with workspace_client(tmp_path) as client:
        yield client


async def execute(client: httpx.AsyncClient, command: str, **fields) -> dict:
    reply = await client.post("/api/bash/execute_bash_command", json={"command": command, **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def start(client: httpx.AsyncClient, command: str, **fields) -> str:
    reply = await client.post("/api/bash/start_bash_command", json={"command": command, **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()["id"]


async def follow(client: httpx.AsyncClient, command_id: str, until) -> list[dict]:
    """Reads the output of a command again and again until `until` is true for it, as clients do. Returns the
    output.
    """
    params = {"command_id__eq": command_id, "kind__eq": "BashOutput", "sort_order": "TIMESTAMP", "limit": 100}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not until(items := (await client.get(SEARCH, params=params)).json()["items"]):  # noqa: ASYNC110 (HTTP sends no events)
            await asyncio.sleep(0.01)
    return items


def has_ended(items: list[dict]) -> bool:
    return any(item["exit_code"] is not None for item in items)


async def test_a_command_gives_one_output_as_on_the_wire(client: httpx.AsyncClient):
    output = await execute(client, "echo hi", timeout=PATIENCE_SECONDS)
    assert list(output) == ["id", "timestamp", "command_id", "order", "exit_code", "stdout", "stderr", "kind"]
    del output["id"], output["timestamp"], output["command_id"]
    assert output == {"order": 0, "exit_code": 0, "stdout": "hi\n", "stderr": None, "kind": "BashOutput"}


@pytest.mark.parametrize(
    ("command", "exit_code", "stdout", "stderr"),
    [
        ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"),
        ("kill -TERM $$", 143, None, None),
        ("pwd", 0, "{root}\n", None),
        ("cat", 0, None, None),
        ("printf 'ü€🎉'", 0, "ü€🎉", None),
        (r"printf '\xff'", 0, "\ufffd", None),
    ],
)
async def test_output_streams_and_exit_codes_are_kept_apart(
    client, tmp_path, command, exit_code, stdout, stderr
):
    output = await execute(client, command)
    expected = stdout and stdout.format(root=tmp_path)
    assert (output["exit_code"], output["stdout"], output["stderr"]) == (exit_code, expected, stderr)


async def test_a_command_runs_where_it_is_told(client: httpx.AsyncClient, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    for cwd in ("sub", str(tmp_path / "sub")):
        assert (await execute(client, "pwd", cwd=cwd))["stdout"] == f"{tmp_path}/sub\n"


async def test_output_can_be_read_while_the_command_runs(client: httpx.AsyncClient):
    command_id = await start(client, "echo first; read -t 20 < <(sleep 20); echo second")
    items = await follow(client, command_id, until=bool)
    assert items[0]["stdout"] == "first\n"
    assert not has_ended(items)
    assert (await client.post(f"/api/bash/bash_commands/{command_id}/stop")).json() == {"success": True}
    assert (await follow(client, command_id, until=has_ended))[-1]["exit_code"] == -1
    # A second stop succeeds and changes nothing. The stop of a command that never existed is refused.
    assert (await client.post(f"/api/bash/bash_commands/{command_id}/stop")).json() == {"success": True}
    assert (await client.post(f"/api/bash/bash_commands/{uuid4()}/stop")).status_code == 404


async def test_long_output_comes_in_pieces_in_order(client: httpx.AsyncClient):
    output = await execute(client, "seq 1 200000")
    everything = "".join(f"{n}\n" for n in range(1, 200_001))
    assert output["stdout"] == everything
    items = await follow(client, output["command_id"], until=has_ended)
    assert [item["order"] for item in items] == list(range(len(items)))
    assert all(len(item["stdout"] or "") <= 30_000 for item in items)
    assert "".join(item["stdout"] or "" for item in items) == everything
    assert [item["exit_code"] for item in items] == [None] * (len(items) - 1) + [0]


async def test_endless_output_keeps_its_beginning_and_end(client: httpx.AsyncClient):
    output = await execute(client, "yes 0123456789 | head -c 12000000; echo end")
    assert len(output["stdout"]) < 9_000_000
    assert "characters left out" in output["stdout"]
    assert output["stdout"].endswith("end\n")


async def test_a_timeout_ends_the_whole_process_group(client: httpx.AsyncClient):
    output = await execute(client, "trap '' TERM; sleep 600 & echo $!; wait; sleep 600", timeout=2)
    assert output["exit_code"] == -1
    check = await execute(client, f"test -e /proc/{int(output['stdout'])}/exe")
    assert check["exit_code"] == 1


async def test_background_jobs_do_not_hold_the_command(client: httpx.AsyncClient):
    output = await execute(client, "sleep 6000 & echo $!", timeout=PATIENCE_SECONDS)
    assert output["exit_code"] == 0
    await execute(client, f"kill {output['stdout']}")


async def test_nothing_of_the_servers_environment_leaks(client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OH_SESSION_API_KEYS_0", "canary")
    output = await execute(client, "env; cat /proc/$$/environ; ls -l /proc/$$/fd")
    assert "PATH=" in output["stdout"]
    assert "canary" not in output["stdout"]


async def test_search_filters_sorts_and_pages(client: httpx.AsyncClient):
    before = datetime.now(UTC)
    first = await execute(client, "echo 1")
    middle = datetime.now(UTC)
    await execute(client, "echo 2")

    async def search(**params) -> list[dict]:
        return (await client.get(SEARCH, params=params)).json()["items"]

    assert [item["kind"] for item in await search()] == ["BashCommand", "BashOutput"] * 2
    assert [item["command"] for item in await search(kind__eq="BashCommand")] == ["echo 1", "echo 2"]
    assert len(await search(command_id__eq=first["command_id"])) == 2
    assert [item["stdout"] for item in await search(order__gt=-1)] == ["1\n", "2\n"]
    assert await search(order__gt=0) == []
    newest_first = await search(sort_order="TIMESTAMP_DESC", kind__eq="BashOutput")
    assert [item["stdout"] for item in newest_first] == ["2\n", "1\n"]
    assert len(await search(timestamp__gte=middle.isoformat())) == 2
    assert len(await search(timestamp__lt=middle.isoformat())) == 2
    assert await search(timestamp__lt=before.isoformat()) == []
    seen, page_id = [], None
    while True:
        params = {"limit": 3} | ({"page_id": page_id} if page_id else {})
        page = (await client.get(SEARCH, params=params)).json()
        seen += page["items"]
        if not (page_id := page["next_page_id"]):
            break
    assert seen == await search()
    event = seen[1]
    assert (await client.get(f"/api/bash/bash_events/{event['id']}")).json() == event
    assert (await client.delete("/api/bash/bash_events")).json() == {"cleared_count": 4}
    assert await search() == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "validation_failed"),
        ({"command": 1}, 422, "validation_failed"),
        ({"command": "ls", "timeout": 0}, 422, "validation_failed"),
        ({"command": "ls", "cwd": "/no/such/place"}, 400, "directory_not_found"),
        ({"command": "ls", "cwd": "a\0b"}, 400, "directory_not_found"),
        ({"command": "a\0b"}, 400, "invalid_command"),
        ({"command": "x" * 200_000}, 413, "command_too_long"),
    ],
)
async def test_bad_requests_are_problems(client: httpx.AsyncClient, body, status, code):
    for route in ("execute_bash_command", "start_bash_command"):
        reply = await client.post(f"/api/bash/{route}", json=body)
        assert (reply.status_code, reply.json()["code"]) == (status, code)
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["detail"]


async def test_rejected_values_are_not_repeated(client: httpx.AsyncClient):
    reply = await client.post("/api/bash/execute_bash_command", json={"command": {"key": "canary"}})
    assert reply.json()["errors"][0]["loc"] == ["body", "command"]
    assert "canary" not in reply.text


async def test_a_command_counts_as_work_and_idle_time_begins_at_its_end(tmp_path: Path):
    async with agent_app(tmp_path) as client:

        async def idle_seconds() -> float:
            return float((await called(client, "GET", "/server_info"))["idle_time"])

        while not await idle_seconds() > 0:  # noqa: ASYNC110 (HTTP sends no events)
            await asyncio.sleep(0.001)
        command_id = await start(client, "exec sleep 100")
        assert await idle_seconds() == 0

        ended_after = time.monotonic()
        await called(client, "POST", f"/api/bash/bash_commands/{command_id}/stop")
        idle = await idle_seconds()
        assert 0 < idle <= time.monotonic() - ended_after
