"""Tests of an agent server that does not answer any more: the app server notices this, shows it to the user
and restarts the agent server. A message that is sent meanwhile is delivered once.
"""

import os
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app_server.agent_client import client as agent_client
from app_server.sandbox_backends.process.agent_server_process import read_handle
from app_server.sandbox_lifecycle import machines, monitor
from tests.app_server.conversations.conftest import ROOT, Home, eventually

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def halt(home: Home, conversation_id: str) -> int:
    handle = read_handle(Path(home.config.home) / "sandboxes" / conversation_id)
    assert handle is not None
    os.kill(handle.pid, signal.SIGSTOP)
    return handle.pid


def message(text: str, message_id: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": message_id, "role": "user", "content": content, "run": False}


async def ids_of(home: Home, conversation_id: str) -> list[str]:
    found = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search")
    return [event["id"] for event in found.json()["items"]]


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_message_to_it_is_kept_and_arrives_exactly_once(
    comes_back: bool, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = (await home.ready())["id"]
    monkeypatch.setattr(agent_client, "SEND_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(machines, "SILENT_SECONDS", 600.0 if comes_back else 0.5)
    pid = halt(home, conversation_id)

    for _ in range(2):
        reply = await home.client.post(
            f"{ROOT}/{conversation_id}/send-message", json=message("once", "the-one")
        )
        assert reply.status_code == 200, reply.text
        assert reply.json()["message"] == "queued"
    monkeypatch.setattr(agent_client, "SEND_TIMEOUT_SECONDS", 30.0)
    if comes_back:
        os.kill(pid, signal.SIGCONT)

    await home.ended(conversation_id)
    await eventually(lambda: _has(home, conversation_id, "the-one"))
    assert (await ids_of(home, conversation_id)).count("the-one") == 1


async def test_it_is_found_shown_and_restarted_automatically(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = (await home.ready())["id"]
    monkeypatch.setattr(machines, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(monitor, "PROBE_SECONDS", 0.1)
    all_of_them = home.state["sandboxes"]._machines
    announce, is_up = all_of_them.on_change, []

    async def note(sandbox_id: UUID) -> None:
        monkeypatch.setattr(machines, "SILENT_SECONDS", 600.0)  # the restarted agent server may start slowly
        is_up.append(sandbox_id in all_of_them.running)
        await announce(sandbox_id)

    all_of_them.on_change = note
    pid = halt(home, conversation_id)

    async def is_back() -> bool:
        found = await home.conversation(conversation_id)
        handle = read_handle(Path(home.config.home) / "sandboxes" / conversation_id)
        return bool(found["sandbox_status"] == "RUNNING" and handle and handle.pid != pid)

    await eventually(is_back)
    assert is_up[0] is False, "those who watch are told"
    assert await home.shell(conversation_id, "echo on") == "on"


async def _has(home: Home, conversation_id: str, message_id: str) -> bool:
    return message_id in await ids_of(home, conversation_id)
