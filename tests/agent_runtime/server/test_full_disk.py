"""On a full disk no accepted message is lost. A new message is refused, or a run ends and can
continue later.
"""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.follow import SlowConsumerError, follow
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, eventually, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, hold, say

PAGES_FOR_A_FEW_WORDS = 4


def live(client: httpx.AsyncClient, conversation_id: str) -> ConversationEngine:
    app: Any = client._transport.app  # type: ignore[attr-defined]
    conversation: ConversationEngine = app.state.registry.get(UUID(conversation_id))
    return conversation


def fill_disk(conversation: ConversationEngine) -> None:
    """Makes SQLite behave as on a full disk. The log has room for a short event only."""
    database = conversation.log._db
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {pages + PAGES_FOR_A_FEW_WORDS}")


def free_disk(conversation: ConversationEngine) -> None:
    conversation.log._db.execute("PRAGMA max_page_count = 1000000")


async def test_a_message_is_refused_clearly_and_taken_when_there_is_room(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    scripted_llm.script(say("Hello."))
    async with agent_app(tmp_path) as client:
        info = await called(client, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
        path = f"/api/conversations/{info['id']}"
        conversation = live(client, info["id"])
        fill_disk(conversation)
        said = message("x" * 50_000, id="mine", run=True)

        refused = await client.post(f"{path}/events", json=said)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        assert refused.json()["fix"]
        assert await called(client, "GET", f"{path}/events/count") == 0

        free_disk(conversation)
        await called(client, "POST", f"{path}/events", json=said)
        await wait_for_status(client, info["id"], "finished")


async def test_a_run_that_cannot_be_written_ends_and_goes_on_when_there_is_room(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    lost = hold(say("y" * 50_000))
    scripted_llm.script(lost, say("Here I am."))
    async with agent_app(tmp_path) as client:
        body = start_request(scripted_llm, tmp_path, "Go.")
        conversation_id = (await called(client, "POST", "/api/conversations", json=body))["id"]
        await scripted_llm.wait_for_requests(1)
        conversation = live(client, conversation_id)
        fill_disk(conversation)

        lost.release()

        # The log has room for this status. Without it, the status would be "idle", because no run is going
        # on.
        await wait_for_status(client, conversation_id, "error")
        events = await called(client, "GET", f"/api/conversations/{conversation_id}/events/search")
        (failure,) = [one for one in events["items"] if one["kind"] == "ConversationErrorEvent"]
        assert "disk is full" in failure["detail"]
        free_disk(conversation)
        await called(client, "POST", f"/api/conversations/{conversation_id}/run")
        await wait_for_status(client, conversation_id, "finished")
        final = await called(client, "GET", f"/api/conversations/{conversation_id}/agent_final_response")
    assert final == {"response": "Here I am."}


async def test_one_slow_reader_holds_back_neither_the_others_nor_the_run(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        info = await called(client, "POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
        conversation = live(client, info["id"])
        slow, quick = (follow(conversation, after_seq=0) for _ in range(2))
        heard: list[int | None] = []

        async def listen() -> None:
            async for frame in quick:
                heard.append(frame.seq)  # noqa: PERF401 (read while it grows)

        listening = asyncio.create_task(listen())
        path = f"/api/conversations/{info['id']}/events"
        await called(client, "POST", path, json=message("first"))
        read = [(await anext(slow)).seq, (await anext(slow)).seq]
        # From here on, the slow reader is subscribed but reads nothing.
        waiting = asyncio.create_task(anext(slow))
        await asyncio.sleep(0)
        for seq in range(3, 23):
            await called(client, "POST", path, json=message("z" * 1_000_000))
            await eventually(lambda seq=seq: seq in heard)
        read.append((await waiting).seq)

        with pytest.raises(SlowConsumerError):  # noqa: PT012 (it is read until then)
            while True:
                read.append((await anext(slow)).seq)

        positions = [seq for seq in read if seq is not None]
        assert positions == list(range(1, len(positions) + 1))
        assert len(positions) < 22
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await quick.aclose()
