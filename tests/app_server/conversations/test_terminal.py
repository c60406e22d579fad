"""Tests of the WebSocket to the terminal of a conversation, with an agent server in a process sandbox."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of
from tests.support.patience import PATIENCE_SECONDS


@asynccontextmanager
async def terminal(
    home: Home, conversation_id: str, key: str | None = None
) -> AsyncIterator[ClientConnection]:
    url = f"ws://127.0.0.1:{home.config.port}{ROOT}/{conversation_id}/terminal"
    headers = {"Authorization": f"Bearer {key or home.key}"} if key != "" else {}
    async with connect(url, additional_headers=headers, open_timeout=PATIENCE_SECONDS) as socket:
        yield socket


async def read_until(socket: ClientConnection, text: str) -> str:
    output = ""
    while text not in output:
        async with asyncio.timeout(PATIENCE_SECONDS):
            piece = await socket.recv()
        assert isinstance(piece, bytes), piece
        output += piece.decode(errors="replace")
    return output


async def refused(home: Home, conversation_id: str, key: str | None = None) -> tuple[int | None, str]:
    """Opens a terminal, and returns the code with which it is closed, and the code of the error."""
    async with terminal(home, conversation_id, key) as socket, asyncio.timeout(PATIENCE_SECONDS):
        error = json.loads(await socket.recv())
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert (error["type"], bool(error["detail"])) == ("error", True)
        return socket.close_code, error["code"]


async def test_the_owner_works_in_the_repository_and_comes_back(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    async with terminal(home, task["id"]) as socket:
        await socket.send(json.dumps({"type": "resize", "columns": 90, "rows": 20}))
        await socket.send(b"mark=kept; git status --short; stty size; echo done-$((1))\r")
        output = await read_until(socket, "done-1")
        assert "20 90" in output
    async with terminal(home, task["id"]) as socket:
        await read_until(socket, "done-1")
        await socket.send(b"env >../environment; echo $mark-$((2)) in $(basename $PWD)\r")
        await read_until(socket, f"kept-2 in {repository.name}")
    environment = await home.shell(task["id"], "cat ../environment")
    assert "slw_" not in environment
    assert "OH_SESSION_API_KEYS" not in environment
    count = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    assert "done-1" not in count.text, "the agent does not see the terminal"


async def test_no_other_person_opens_it(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    member, viewer = await home.key_of(role=Role.MEMBER), await home.key_of(role=Role.VIEWER)
    async with client_of(home.config, member) as guest:
        guest_id = (await guest.get("/api/v1/users/me")).json()["id"]

    assert await refused(home, task["id"], "") == (4001, "not_authenticated")
    assert await refused(home, task["id"], "slw_wrong") == (4001, "not_authenticated")
    assert await refused(home, task["id"], viewer) == (4004, "permission_missing")
    assert (await refused(home, task["id"], member))[0] == 4004
    shared = await home.client.put(f"{ROOT}/{task['id']}/sharing/people/{guest_id}", json={"access": "steer"})
    assert shared.is_success, shared.text
    assert await refused(home, task["id"], member) == (4004, "conversation_access_missing")
    assert (await refused(home, uuid4().hex))[0] == 4004
    assert (await refused(home, "no-id"))[0] == 4004


async def test_it_ends_with_the_key_that_opened_it(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    made = (await home.client.post("/api/v1/api-keys", json={"name": "terminal"})).json()
    async with terminal(home, task["id"], made["key"]) as socket:
        await socket.send(b"echo open-$((1))\r")
        await read_until(socket, "open-1")
        await home.client.delete(f"/api/v1/api-keys/{made['id']}")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while isinstance(last := await socket.recv(), bytes):
                pass
            await socket.wait_closed()
        assert (json.loads(last)["code"], socket.close_code) == ("not_authenticated", 4001)


async def test_a_sandbox_that_sleeps_has_none(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    async with terminal(home, task["id"]) as socket:
        await socket.send(b"echo open-$((1))\r")
        await read_until(socket, "open-1")
        paused = await home.client.post(f"/api/v1/sandboxes/{task['sandbox_id']}/pause")
        assert paused.is_success, paused.text
        with pytest.raises(ConnectionClosed):
            await read_until(socket, "never printed")
    assert await refused(home, task["id"]) == (4009, "sandbox_not_running")
