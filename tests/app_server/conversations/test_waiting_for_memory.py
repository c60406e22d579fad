"""Tests of starts that wait until enough memory is free: they are listed with their place in the queue, can
be cancelled, and stay queued when the server restarts.
"""

from typing import Any
from uuid import UUID

import httpx
import pytest

from app_server.conversations.start import worker as start_worker
from app_server.core.config import Config
from app_server.settings.sharing import add_first_profiles
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.app_server.conversations.test_worker import new_worker
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, say

pytestmark = pytest.mark.both_databases

ONE = 512 * 1024**2


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"sandbox_memory_bytes": ONE, "sandbox_memory_total_bytes": ONE})


async def in_line(home: Home, task_id: str, number: int) -> dict[str, Any]:
    async def check() -> Any:
        task = await home.task(task_id)
        return task if f"Number {number} of" in (task["detail"] or "") else None

    task: dict[str, Any] = await eventually(check)
    return task


async def task_of(client: httpx.AsyncClient, task_id: str) -> dict[str, Any]:
    (task,) = (await client.get(f"{ROOT}/start-tasks", params={"ids": [task_id]})).json()
    found: dict[str, Any] = task
    return found


async def delete(home: Home, conversation_id: str) -> None:
    assert (await home.client.delete(f"{ROOT}/{conversation_id}")).status_code == 200


async def test_a_waiting_start_says_where_it_stands_can_be_deleted_and_outlives_a_restart(
    home: Home,
) -> None:
    first = await home.ready()
    cancelled = await home.start()
    waiting = await in_line(home, cancelled["id"], 1)
    last = await home.start()
    await in_line(home, last["id"], 2)
    assert waiting["status"] == "WAITING_FOR_SANDBOX"
    assert "all memory for sandboxes is in use" in waiting["detail"]

    await delete(home, cancelled["id"])
    await in_line(home, last["id"], 1)
    await home.state["start_worker"].close()
    successor = new_worker(home)
    await successor.open()
    try:
        await delete(home, first["id"])
        assert (await home.ended(last["id"]))["status"] == "READY"
    finally:
        await successor.close()


async def test_many_waiting_starts_of_one_user_do_not_keep_others_from_the_line(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_worker, "MAX_CONCURRENT", 2)
    first = await home.ready()
    mine = [await home.start() for _ in range(4)]

    async def all_wait() -> bool:
        details = [(await home.task(task["id"]))["detail"] or "" for task in mine]
        return all("in the queue" in detail for detail in details)

    await eventually(all_wait)
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        user_id = UUID((await other.get("/api/v1/users/me")).json()["id"])
        async with home.database.session() as session:
            await add_first_profiles(session, user_id)
        theirs = (await other.post(ROOT, json={})).json()

        async def is_first_in_line() -> bool:
            return "Number 1 of" in ((await task_of(other, theirs["id"]))["detail"] or "")

        async def is_ready() -> bool:
            return bool((await task_of(other, theirs["id"]))["status"] == "READY")

        await eventually(is_first_in_line)
        await delete(home, first["id"])
        await eventually(is_ready)
    assert [(await home.task(task["id"]))["status"] for task in mine] == ["WAITING_FOR_SANDBOX"] * 4


async def send(home: Home, conversation_id: str, text: str, message_id: str | None = None) -> dict[str, Any]:
    message = {"id": message_id, "role": "user", "content": [{"type": "text", "text": text}]}
    reply = await home.client.post(f"{ROOT}/{conversation_id}/send-message", json=message)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


async def asleep_without_room(home: Home, scripted_llm: ScriptedLLM) -> tuple[str, str]:
    """Starts two conversations where the memory is enough for one. Returns the id of the one whose sandbox
    sleeps, and the id of the one whose sandbox uses the memory.
    """
    scripted_llm.fallback = lambda _: say("Yes.")
    llm = {"model": "openai/small", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    assert (await home.client.post("/api/v1/settings/profiles/small", json={"llm": llm})).status_code == 201
    sleeper = await home.ready(llm_profile="small")
    await home.client.post(f"/api/v1/sandboxes/{sleeper['id']}/pause")
    awake = await home.ready()
    return sleeper["id"], awake["id"]


async def has_asked(scripted_llm: ScriptedLLM, *texts: str) -> None:
    """Waits until one request to the model contains all of the texts."""

    async def check() -> bool:
        asked = [str(request.body["messages"]) for request in scripted_llm.requests]
        return any(all(text in each for text in texts) for each in asked)

    await eventually(check)


async def waiting_texts(home: Home, conversation_id: str) -> list[str]:
    reply = await home.client.get(f"/api/v1/conversations/{conversation_id}/pending-messages")
    return [message["content"][0]["text"] for message in reply.json()]


async def test_a_message_to_a_sleeping_sandbox_stays_queued_over_restarts_and_is_delivered(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    sleeper, awake = await asleep_without_room(home, scripted_llm)

    assert (await send(home, sleeper, "Are you there?"))["message"] == "queued"
    assert (await send(home, sleeper, "And now?"))["message"] == "queued"
    task = await in_line(home, sleeper, 1)
    assert task["status"] == "WAITING_FOR_SANDBOX"
    assert await waiting_texts(home, sleeper) == ["Are you there?", "And now?"]

    await home.state["start_worker"].close()
    successor = new_worker(home)
    await successor.open()
    try:
        await in_line(home, sleeper, 1)
        await delete(home, awake)
        assert (await home.ended(sleeper))["status"] == "READY"
        await has_asked(scripted_llm, "Are you there?", "And now?")
    finally:
        await successor.close()
    assert await waiting_texts(home, sleeper) == []


async def test_a_message_that_waits_can_be_taken_back_and_the_sandbox_sleeps_on(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    sleeper, awake = await asleep_without_room(home, scripted_llm)
    await send(home, sleeper, "Never mind.", "first")
    await send(home, sleeper, "Nor this.", "second")
    await in_line(home, sleeper, 1)
    waiting = f"/api/v1/conversations/{sleeper}/pending-messages"

    assert (await home.client.delete(f"{waiting}/second")).json() == {"success": True}
    assert (await home.task(sleeper))["status"] == "WAITING_FOR_SANDBOX", "another message waits"
    assert (await home.client.delete(f"{waiting}/first")).json() == {"success": True}

    assert (await home.task(sleeper))["status"] == "READY"
    assert (await home.conversation(sleeper))["sandbox_status"] == "PAUSED"
    assert_problem(await home.client.delete(f"{waiting}/first"), 404, "message_not_waiting")
    await delete(home, awake)
    await send(home, sleeper, "Now!")
    await has_asked(scripted_llm, "Now!")
    assert not [each for each in scripted_llm.requests if "Never mind." in str(each.body["messages"])]
