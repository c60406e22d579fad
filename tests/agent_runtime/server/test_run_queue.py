"""Tests of the limit of runs at the same time: more runs wait in a queue, and idle conversations leave
memory.
"""

import asyncio
import gc
import os
from pathlib import Path
from uuid import UUID

import httpx

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.log import EventLog, LogInUseError
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, eventually, wait_for_status
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.scripted_llm import ScriptedLLM, call, hang, hold, say


async def start(client: httpx.AsyncClient, llm: ScriptedLLM, path: Path, text: str | None) -> str:
    return str(
        (await called(client, "POST", "/api/conversations", json=start_request(llm, path, text)))["id"]
    )


ASK = {
    "name": "ask_user",
    "description": "Shows a question to the person at the screen.",
    "parameters": {"properties": {"question": {"type": "string"}}, "required": ["question"]},
    "awaits_answer": True,
}


async def waiting_call(client: httpx.AsyncClient, conversation_id: str) -> str:
    """Waits until a call of the agent waits for its client, and returns the id of this call."""
    path = f"/api/conversations/{conversation_id}/events/search"
    async with asyncio.timeout(PATIENCE_SECONDS):
        pauses = pauses_between_looks()
        while True:
            if found := (await called(client, "GET", path, params={"kind": "ActionEvent"}))["items"]:
                return str(found[0]["id"])
            await asyncio.sleep(next(pauses))


async def wait_for_runs(client: httpx.AsyncClient, *, active: int, queued: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        pauses = pauses_between_looks()
        while True:
            info = await called(client, "GET", "/server_info")
            if (info["active_runs"], info["queued_runs"]) == (active, queued):
                return
            await asyncio.sleep(next(pauses))


async def answer(client: httpx.AsyncClient, conversation_id: str, text: str) -> None:
    body = {
        "action_id": await waiting_call(client, conversation_id),
        "content": [{"type": "text", "text": text}],
    }
    await called(client, "POST", f"/api/conversations/{conversation_id}/events/answer_client_tool", json=body)


async def status(client: httpx.AsyncClient, conversation_id: str) -> str:
    return str((await called(client, "GET", f"/api/conversations/{conversation_id}"))["execution_status"])


async def test_a_run_waits_for_its_turn_in_order(tmp_path: Path, scripted_llm: ScriptedLLM):
    first = hold(say("one"))
    scripted_llm.script(first, say("two"), say("three"))
    async with agent_app(tmp_path, max_concurrent_runs=1) as client:
        ids = [await start(client, scripted_llm, tmp_path, text) for text in ("1", "2", "3")]
        await scripted_llm.wait_for_requests(1)
        info = await called(client, "GET", "/server_info")
        assert (info["active_runs"], info["queued_runs"], info["idle_time"]) == (1, 2, 0)
        assert [await status(client, one) for one in ids] == ["running"] * 3

        first.release()

        for conversation_id in ids:
            await wait_for_status(client, conversation_id, "finished")
    assert [request.last_text for request in scripted_llm.requests] == ["1", "2", "3"]


async def test_a_waiting_run_can_be_paused_or_stopped_at_once(tmp_path: Path, scripted_llm: ScriptedLLM):
    scripted_llm.script(hang())
    async with agent_app(tmp_path, max_concurrent_runs=1) as client:
        ids = [await start(client, scripted_llm, tmp_path, text) for text in ("1", "2", "3")]
        await scripted_llm.wait_for_requests(1)

        await called(client, "POST", f"/api/conversations/{ids[1]}/pause")
        await called(client, "POST", f"/api/conversations/{ids[2]}/interrupt")

        await wait_for_status(client, ids[1], "paused")
        await wait_for_status(client, ids[2], "paused")
        assert (await called(client, "GET", "/server_info"))["queued_runs"] == 0
        # The slot is free for runs that were stopped while they waited.
        await called(client, "POST", f"/api/conversations/{ids[0]}/interrupt")
        scripted_llm.script(say("two"))
        await called(client, "POST", f"/api/conversations/{ids[1]}/run")
        await wait_for_status(client, ids[1], "finished")


async def test_a_run_that_waits_for_a_clients_answer_gives_up_its_slot_and_queues_again_with_the_answer(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    second = hold(say("two"))
    scripted_llm.script(call("ask_user", question="Red?"), second, say("Red it is."))
    request = {**start_request(scripted_llm, tmp_path, "1"), "client_tools": [ASK]}
    async with agent_app(tmp_path, max_concurrent_runs=1) as client:
        asking = str((await called(client, "POST", "/api/conversations", json=request))["id"])
        await eventually(lambda: scripted_llm.requests != [])
        other = await start(client, scripted_llm, tmp_path, "2")
        await scripted_llm.wait_for_requests(2)
        assert [await status(client, one) for one in (asking, other)] == ["running"] * 2

        await answer(client, asking, "Yes, red.")
        await wait_for_runs(client, active=1, queued=1)
        second.release()

        await wait_for_status(client, other, "finished")
        await wait_for_status(client, asking, "finished")
    assert "Yes, red." in scripted_llm.requests[2].last_text


async def test_a_run_that_waits_for_a_clients_answer_can_be_stopped_or_paused(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    scripted_llm.script(call("ask_user", question="Red?"), call("ask_user", question="Blue?"), hang())
    request = {**start_request(scripted_llm, tmp_path, "1"), "client_tools": [ASK]}
    async with agent_app(tmp_path, max_concurrent_runs=1) as client:
        stopped, paused = [
            str((await called(client, "POST", "/api/conversations", json=request))["id"]) for _ in range(2)
        ]
        for one in (stopped, paused):
            await waiting_call(client, one)
        working = await start(client, scripted_llm, tmp_path, "2")
        await scripted_llm.wait_for_requests(3)

        await called(client, "POST", f"/api/conversations/{stopped}/interrupt")
        await wait_for_status(client, stopped, "paused")
        await called(client, "POST", f"/api/conversations/{paused}/pause")
        await answer(client, paused, "Yes, blue.")
        # The run ends although the only slot is taken. It needs no slot, because it has nothing left to do.
        await wait_for_status(client, paused, "paused")

        await wait_for_runs(client, active=1, queued=0)
        assert await status(client, working) == "running"


async def test_an_idle_conversation_leaves_memory_and_comes_back_with_its_key(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("one"), say("two"))
    async with agent_app(tmp_path, conversation_idle_ttl_seconds=0.05) as client:
        conversation_id = await start(client, scripted_llm, tmp_path, "1")
        await scripted_llm.wait_for_requests(1)
        await eventually(lambda: is_away(tmp_path, conversation_id))
        await called(
            client, "POST", f"/api/conversations/{conversation_id}/events", json=message("2", run=True)
        )
        await scripted_llm.wait_for_requests(2)
        await wait_for_status(client, conversation_id, "finished")
    # The model accepted the second call: the key was still known.
    assert scripted_llm.requests[1].last_text == "2"


async def test_what_leaves_memory_is_free_at_once(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path, conversation_idle_ttl_seconds=0.05) as client:
        # Large texts are few objects, so the garbage collector runs late. Here it is off: it must not be
        # needed.
        gc.disable()
        try:
            info = await called(
                client, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path)
            )
            await eventually(lambda: is_away(tmp_path, info["id"]))
            kept = [one for one in gc.get_objects() if isinstance(one, ConversationEngine)]
        finally:
            gc.enable()

    assert info["id"] not in {str(one.id) for one in kept}


async def test_a_conversation_with_a_program_in_the_background_stays(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    serve = "sleep 60 & echo $! > pid"
    scripted_llm.script(call("terminal", command=serve), say("Serving."), say("Nothing goes on here."))
    async with agent_app(tmp_path, conversation_idle_ttl_seconds=0.05) as client:
        serving = await start(client, scripted_llm, tmp_path, "Serve.")
        await wait_for_status(client, serving, "finished")
        other = await start(client, scripted_llm, tmp_path, "And you?")

        await eventually(lambda: is_away(tmp_path, other))

        # The conversation `serving` has been idle for longer than `other`, but stays in memory.
        assert not is_away(tmp_path, serving)
        os.kill(int((tmp_path / "work" / "pid").read_text()), 0)


def is_away(path: Path, conversation_id: str) -> bool:
    """Returns whether the conversation is no longer in memory, so that another process could open its log."""
    try:
        EventLog(path / "conversations" / UUID(conversation_id).hex).close()
    except LogInUseError:
        return False
    return True
