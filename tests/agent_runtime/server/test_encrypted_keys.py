"""If OH_SECRET_KEY is set, keys and secrets of conversations are stored encrypted and are there after a
restart.
"""

import hashlib
from pathlib import Path

import httpx
import pytest

from tests.agent_runtime.server.conftest import message, start_request, status_of, wait_until
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.agent_server import AgentServer
from tests.support.scripted_llm import ScriptedLLM, call, hang, say

TOKEN = "conversation-canary"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
ASK_FOR_TOKEN = call("terminal", command='printf %s "$TOKEN" | sha256sum')


def on_disk(path: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in path.rglob("*") if file.is_file())


async def create(client: httpx.AsyncClient, llm: ScriptedLLM, path: Path) -> str:
    body = start_request(llm, path, secrets={"TOKEN": TOKEN})
    return str((await called(client, "POST", "/api/conversations", json=body))["id"])


async def run(client: httpx.AsyncClient, conversation: str, status: str) -> None:
    await called(client, "POST", f"/api/conversations/{conversation}/events", json=message("Go.", run=True))
    await wait_for_status(client, conversation, status)


def test_a_run_goes_on_with_its_keys_after_a_restart_and_none_is_on_disk_in_clear(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OH_SECRET_KEY", "server-canary")
    monkeypatch.setenv("OH_PERSISTENCE_DIR", str(tmp_path / "persisted"))
    own_server.start()
    scripted_llm.script(hang(), ASK_FOR_TOKEN, say("done"))
    body = start_request(scripted_llm, tmp_path, "Go.", secrets={"TOKEN": TOKEN})
    conversation = own_server.call("POST", "/api/conversations", json=body)["id"]
    wait_until(lambda: scripted_llm.requests)

    own_server.kill()
    own_server.start()
    wait_until(lambda: status_of(own_server, conversation) not in {"idle", "running"})

    assert status_of(own_server, conversation) == "finished"
    assert scripted_llm.requests[-1].headers["authorization"] == f"Bearer {scripted_llm.api_key}"
    assert DIGEST in str(own_server.events(conversation))
    found = on_disk(tmp_path)
    assert [one for one in (scripted_llm.api_key, TOKEN, "server-canary") if one.encode() in found] == []


async def test_without_a_secret_key_they_are_gone_and_nothing_is_kept(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        conversation = await create(client, scripted_llm, tmp_path)
    async with agent_app(tmp_path) as client:
        scripted_llm.script(say("done"))
        await run(client, conversation, "finished")

    assert scripted_llm.api_key not in str(scripted_llm.requests[0].headers)
    assert b"sealed_keys" not in on_disk(tmp_path / "conversations")


async def test_another_secret_key_leaves_them_lost_and_is_warned_of(
    tmp_path: Path, scripted_llm: ScriptedLLM, caplog: pytest.LogCaptureFixture
):
    async with agent_app(tmp_path, secret_key="one") as client:
        conversation = await create(client, scripted_llm, tmp_path)
    async with agent_app(tmp_path, secret_key="two") as client:
        scripted_llm.script(say("done"))
        await run(client, conversation, "finished")

    assert scripted_llm.api_key not in str(scripted_llm.requests[0].headers)
    assert "sealed with another OH_SECRET_KEY" in caplog.text


async def test_a_new_secret_key_takes_over_from_the_previous_one(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path, secret_key="old") as client:
        conversation = await create(client, scripted_llm, tmp_path)
    async with agent_app(tmp_path, secret_key="new", previous_secret_keys=["old"]) as client:
        await called(client, "GET", f"/api/conversations/{conversation}")
    async with agent_app(tmp_path, secret_key="new") as client:
        scripted_llm.script(ASK_FOR_TOKEN, say("done"))
        await run(client, conversation, "finished")
        events = await called(client, "GET", f"/api/conversations/{conversation}/events/search")

    assert DIGEST in str(events)
    assert TOKEN not in str(events)


async def test_what_is_set_later_is_kept_as_well(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path, secret_key="k") as client:
        conversation = await create(client, scripted_llm, tmp_path)
        llm = start_request(scripted_llm, tmp_path)["agent"]["llm"]
        other = {**llm, "model": "openai/other"}
        route = f"/api/conversations/{conversation}"
        await called(client, "POST", f"{route}/switch_llm", json={"llm": other})
        await called(client, "POST", f"{route}/secrets", json={"secrets": {"LATER": TOKEN}})
        copy = (await called(client, "POST", f"{route}/fork", json={}))["id"]
    async with agent_app(tmp_path, secret_key="k") as client:
        for one in (conversation, copy):
            scripted_llm.script(call("terminal", command='printf %s "$LATER" | sha256sum'), say("done"))
            await run(client, one, "finished")
            assert scripted_llm.requests[-1].body["model"] == "other"
            events = await called(client, "GET", f"/api/conversations/{one}/events/search")
            assert DIGEST in str(events)
