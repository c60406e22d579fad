"""Tests of several conversations in one sandbox: what they share, what they do not share, and when the
sandbox is deleted.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

from app_server.llm_gateway.limits.models import SpendingAccount
from tests.app_server.conversations.conftest import ROOT, Home, eventually
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, say

SANDBOXES = "/api/v1/sandboxes"
GROUPING = "/api/v1/settings/sandbox-grouping"


async def share(home: Home, strategy: str = "GROUP_BY_NEWEST") -> None:
    reply = await home.client.put(GROUPING, json={"sandbox_grouping_strategy": strategy})
    assert reply.status_code == 200, reply.text


async def use_model(home: Home, llm: ScriptedLLM, **fields: Any) -> None:
    settings = {"model": "openai/gpt-4o", "base_url": llm.base_url, "api_key": llm.api_key, **fields}
    reply = await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    assert reply.status_code == 201, reply.text


async def begin(home: Home, **request: Any) -> dict[str, Any]:
    return await home.ready(llm_profile="mine", title="Shared", **request)


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


async def send(home: Home, conversation_id: str, text: str) -> Any:
    reply = await home.client.post(f"{ROOT}/{conversation_id}/send-message", json=message(text))
    assert reply.status_code == 200, reply.text
    return reply.json()


async def becomes(home: Home, conversation_id: str, status: str) -> None:
    async def check() -> bool:
        return bool((await home.conversation(conversation_id))["execution_status"] == status)

    await eventually(check)


async def replies(home: Home, conversation_id: str) -> list[str]:
    url = f"/api/v1/conversation/{conversation_id}/events/search"
    items = (await home.client.get(url, params={"limit": 100})).json()["items"]
    said = [item for item in items if item["kind"] == "MessageEvent" and item["source"] == "agent"]
    return [item["llm_message"]["content"][0]["text"] for item in said]


async def is_gone(home: Home, conversation_id: str) -> None:
    """Waits until the worker has removed the data of a deleted conversation."""

    async def check() -> bool:
        async with home.database.read() as session:
            return await session.get(SpendingAccount, UUID(conversation_id)) is None

    await eventually(check)


def workspace_of(home: Home, sandbox_id: str) -> Path:
    return home.config.home / "sandboxes" / sandbox_id / "workspace"


async def test_two_conversations_with_one_repository_do_not_tread_on_each_other(
    home: Home, repository: Path
) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(selected_repository=str(repository))

    assert first["sandbox_id"] == first["id"]
    assert second["sandbox_id"] == first["id"] != second["id"]
    details = {stage["status"]: stage["detail"] for stage in second["stages"]}
    assert details["WORKING"] == "Joined a sandbox with 1 other conversation"
    await home.shell(first["id"], "echo mine > only-here")
    assert await home.shell(second["id"], "cat README.md; ls only-here") != ""
    changes = [(await home.client.get(f"{ROOT}/{each['id']}/git/changes")).json() for each in (first, second)]
    assert changes == [[{"status": "ADDED", "path": "only-here"}], []]
    found = await home.client.get(f"{ROOT}/search", params={"sandbox_id__eq": first["id"]})
    assert {each["id"] for each in found.json()["items"]} == {first["id"], second["id"]}


async def test_each_conversation_pays_for_its_own_calls_and_is_forked_alone(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    await use_model(home, scripted_llm, input_cost_per_token=0, output_cost_per_token=0.01)
    scripted_llm.fallback = say("Yes.", completion_tokens=10)
    await share(home)
    first = await begin(home)
    second = await begin(home)

    await send(home, second["id"], "Ask.")
    await becomes(home, second["id"], "finished")
    await send(home, second["id"], "Ask again.")

    async def spent(task: dict[str, Any]) -> int:
        async with home.database.read() as session:
            return (await session.get_one(SpendingAccount, UUID(task["id"]))).spent

    async def has_paid() -> bool:
        return await spent(second) == 200_000

    await eventually(has_paid)
    assert await spent(first) == 0
    await send(home, first["id"], "And you?")

    async def both_have_paid() -> bool:
        return [await spent(first), await spent(second)] == [100_000, 200_000]

    await eventually(both_have_paid)
    for each in (first, second):
        await home.shell(each["id"], f"echo {each['id']} > mine")

    fork = (await home.client.post(f"{ROOT}/{second['id']}/fork", json={})).json()
    ended = await home.ended(fork["id"])
    assert ended["status"] == "READY", ended["error"]
    assert fork["sandbox_id"] == fork["id"]
    assert await home.shell(fork["id"], "ls; cat mine") == f"mine\n{second['id']}"
    assert await replies(home, fork["id"]) == ["Yes.", "Yes."]
    assert await spent(fork) == 0


async def test_deleting_one_leaves_the_others_and_the_last_takes_the_sandbox_along(
    home: Home, repository: Path
) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(selected_repository=str(repository))
    workspace = workspace_of(home, first["sandbox_id"])
    assert (workspace / "project" / first["id"]).is_dir()
    # Package managers make such read-only caches.
    await home.shell(first["id"], "mkdir cache && touch cache/file && chmod 555 cache")

    await home.client.delete(f"{ROOT}/{first['id']}")
    await is_gone(home, first["id"])

    assert not (workspace / "project" / first["id"]).exists()
    assert not (workspace / "conversations" / first["id"]).exists()
    assert await home.shell(second["id"], "cat README.md") == "harbour"
    assert (await home.conversation(second["id"]))["sandbox_status"] == "RUNNING"
    third = await home.ready(selected_repository=str(repository))
    assert third["sandbox_id"] == first["id"]

    for each in (second, third):
        await home.client.delete(f"{ROOT}/{each['id']}")
        await is_gone(home, each["id"])
    assert not workspace.parent.exists()


async def test_what_was_deleted_from_an_archived_sandbox_goes_once_it_is_back(
    home: Home, repository: Path
) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(selected_repository=str(repository))
    await home.client.post(f"{SANDBOXES}/{first['sandbox_id']}/archive")

    await home.client.delete(f"{ROOT}/{second['id']}")

    assert (await home.client.get(ROOT, params={"ids": [second["id"]]})).json() == [None]
    queued = await send(home, first["id"], "Come back.")
    assert queued["message"] == "queued"
    await is_gone(home, second["id"])
    workspace = workspace_of(home, first["sandbox_id"])
    assert not (workspace / "project" / second["id"]).exists()
    assert (workspace / "project" / first["id"]).is_dir()


async def test_all_of_them_come_back_from_an_archive(home: Home, repository: Path) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(selected_repository=str(repository))
    for each in (first, second):
        await home.shell(each["id"], f"echo {each['id']} > mine")
    await home.client.post(f"{SANDBOXES}/{first['sandbox_id']}/archive")

    for each in (first, second):
        await send(home, each["id"], "Come back.")

    for each in (first, second):
        again = await home.ended(each["id"])
        assert again["status"] == "READY", again["error"]
        assert await home.shell(each["id"], "cat mine") == each["id"]


async def test_a_snapshot_holds_the_files_of_its_conversation_alone(home: Home, repository: Path) -> None:
    await share(home)
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(selected_repository=str(repository))
    await home.shell(first["id"], "echo theirs > notes")
    await home.shell(second["id"], "echo mine > notes; ln notes linked")
    snapshots = f"{SANDBOXES}/{second['id']}/snapshots"
    taken = [(await home.client.post(snapshots, json={})).json()["id"]]
    await home.client.post(f"{SANDBOXES}/{first['sandbox_id']}/archive")
    taken.append((await home.client.post(snapshots, json={})).json()["id"])

    for snapshot_id in taken:
        fork = await home.ready(snapshot_id=snapshot_id)

        assert fork["sandbox_id"] == fork["id"]
        project = workspace_of(home, fork["id"]) / "project"
        assert [each.name for each in project.iterdir()] == [repository.name]
        assert await home.shell(fork["id"], "cat notes linked README.md") == "mine\nmine\nharbour"


async def test_one_that_began_alone_can_be_joined_but_not_copied_any_more(
    home: Home, repository: Path
) -> None:
    first = await home.ready(selected_repository=str(repository))
    second = await home.ready(sandbox_id=first["id"])

    refused = await home.client.post(f"{SANDBOXES}/{first['id']}/snapshots", json={})
    assert_problem(refused, 409, "sandbox_shared")
    await home.shell(second["id"], "touch mine")
    assert (await home.client.get(f"{ROOT}/{first['id']}/git/changes")).json() == []
    await home.client.delete(f"{ROOT}/{first['id']}")
    await is_gone(home, first["id"])
    assert await home.shell(second["id"], "ls") == "mine"
    assert not (workspace_of(home, first["id"]) / "project" / repository.name).exists()


async def test_both_go_on_after_their_agent_server_has_died(home: Home, scripted_llm: ScriptedLLM) -> None:
    await use_model(home, scripted_llm)
    await share(home)
    first, second = await begin(home), await begin(home)
    scripted_llm.fallback = say("Still here.")
    record = home.config.home / "sandboxes" / first["sandbox_id"] / "process.json"
    died = json.loads(record.read_text())["pid"]
    os.kill(died, signal.SIGKILL)

    async def is_back() -> bool:
        found = [await home.conversation(each["id"]) for each in (first, second)]
        is_another = json.loads(record.read_text())["pid"] != died
        return is_another and {each["sandbox_status"] for each in found} == {"RUNNING"}

    await eventually(is_back)
    for each in (first, second):
        await send(home, each["id"], "Are you there?")
        await becomes(home, each["id"], "finished")
        assert await replies(home, each["id"]) == ["Still here."]
