"""Tests of conversations whose files are in an archive, and of conversations that start with a copy of the
files of another conversation.
"""

import io
import tarfile
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx

from app_server.sandbox_records.models import Sandbox
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually, git
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, say

SANDBOXES = "/api/v1/sandboxes"


async def with_profile(home: Home, llm: ScriptedLLM, repository: Path) -> dict[str, Any]:
    llm.fallback = lambda _: say("Yes.")
    body = {"llm": {"model": "openai/small", "base_url": llm.base_url, "api_key": llm.api_key}}
    assert (await home.client.post("/api/v1/settings/profiles/small", json=body)).status_code == 201
    return await home.ready(selected_repository=str(repository), llm_profile="small")


async def send(home: Home, conversation_id: str, text: str) -> httpx.Response:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return await home.client.post(f"{ROOT}/{conversation_id}/send-message", json=message)


async def finished(home: Home, conversation_id: str, times: int) -> None:
    async def has_answered() -> bool:
        params: dict[str, Any] = {"kind": "ConversationStateUpdateEvent", "limit": 100}
        url = f"/api/v1/conversation/{conversation_id}/events/search"
        items = (await home.client.get(url, params=params)).json()["items"]
        values = [item["value"] for item in items if item.get("key") == "execution_status"]
        return values.count("finished") >= times

    await eventually(has_answered)


async def downloaded(home: Home, conversation_id: str) -> dict[str, bytes]:
    """Downloads the conversation's workspace. Returns the regular files by path, without the files that git
    writes.
    """
    reply = await home.client.get(f"{ROOT}/{conversation_id}/workspace")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/gzip"), reply.text
    assert reply.headers["content-length"] == str(len(reply.content))
    with tarfile.open(fileobj=io.BytesIO(reply.content)) as tar:
        files = {each.name: tar.extractfile(each) for each in tar.getmembers() if each.isreg()}
        return {name: file.read() for name, file in files.items() if file is not None}


async def test_a_message_takes_a_conversation_out_of_its_archive(
    home: Home, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    task = await with_profile(home, scripted_llm, repository)
    await send(home, task["id"], "Before.")
    await finished(home, task["id"], 1)
    await home.shell(task["id"], "echo mine > notes")
    running = await downloaded(home, task["id"])

    reply = await home.client.post(f"{SANDBOXES}/{task['id']}/archive")

    assert reply.json() == {"success": True}
    assert (await home.conversation(task["id"]))["sandbox_status"] == "ARCHIVED"
    archived = await downloaded(home, task["id"])
    assert archived == running
    assert archived["project/harbour/notes"] == b"mine\n"
    assert {name.split("/")[0] for name in archived} == {"project"}, "nothing of the agent server is in it"
    async with home.database.read() as session:
        sandbox = await session.get_one(Sandbox, UUID(task["id"]))
        key = home.state["cipher"].decrypt(sandbox.encrypted_session_key).encode()
    assert not any(key in content for content in archived.values())
    assert len(list((home.config.home / "archives" / task["id"]).iterdir())) == 1, "the archive alone is kept"
    told = await home.client.get("/api/v1/audit-log", params={"action": "conversation.exported"})
    assert told.json()["items"][0]["details"] == {"format": "workspace"}
    queued = (await send(home, task["id"], "After.")).json()
    assert queued["message"] == "queued"
    again = await home.ended(task["id"])
    assert again["status"] == "READY", again["error"]
    stages = {stage["status"]: stage for stage in again["stages"]}
    assert "from their archive" in stages["WAITING_FOR_SANDBOX"]["output"]
    await finished(home, task["id"], 2)
    assert await home.shell(task["id"], "cat notes README.md") == "mine\nharbour"
    said = [part["content"] for part in scripted_llm.requests[-1].body["messages"] if part["role"] == "user"]
    assert "Before." in str(said[0]), "it is the same conversation"
    assert "After." in str(said[-1])


async def test_resume_takes_it_out_too(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    await home.client.post(f"{SANDBOXES}/{task['id']}/archive")

    await home.client.post(f"{SANDBOXES}/{task['id']}/resume")

    again = await home.ended(task["id"])
    assert again["status"] == "READY", again["error"]
    assert (await home.conversation(task["id"]))["sandbox_status"] == "RUNNING"


async def test_a_conversation_begins_from_the_files_of_another(
    home: Home, repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(repository), "lamp")
    more = [{"repository": str(tmp_path / "lamp")}]
    task = await home.ready(selected_repository=str(repository), more_repositories=more)
    await home.shell(task["id"], "echo mine > notes; echo bright > ../lamp/light")
    snapshots = f"{SANDBOXES}/{task['id']}/snapshots"
    taken = await home.client.post(snapshots, json={"name": "half way"})
    assert taken.status_code == 201, taken.text
    await home.shell(task["id"], "rm notes ../lamp/light")

    fork = await home.ready(snapshot_id=taken.json()["id"])

    assert fork["request"]["clone"] is None, "the files have the history that they have"
    look = "cat notes ../lamp/light; git rev-parse --show-toplevel | xargs basename"
    assert await home.shell(fork["id"], look) == "mine\nbright\nharbour"
    shown = await home.conversation(fork["id"])
    assert shown["selected_repository"] == str(repository)
    assert [one["repository"] for one in shown["more_repositories"]] == [more[0]["repository"]]
    changes = await home.client.get(f"{ROOT}/{fork['id']}/git/changes", params={"path": "../lamp"})
    assert [each["path"] for each in changes.json()] == ["light"], "the other checkout is a repository, too"
    details = {stage["status"]: stage["detail"] for stage in fork["stages"]}
    assert details["PREPARING_REPOSITORY"] == "Took over the files of a snapshot"

    assert [each["name"] for each in (await home.client.get(snapshots)).json()] == ["half way"]
    removed = await home.client.delete(f"{snapshots}/{taken.json()['id']}")
    assert removed.json() == {"success": True}
    assert (await home.client.get(snapshots)).json() == []
    assert not list((home.config.home / "archives" / task["id"]).iterdir())


async def test_a_snapshot_of_another_user_is_not_found(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    snapshot = (await home.client.post(f"{SANDBOXES}/{task['id']}/snapshots", json={})).json()["id"]

    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        foreign = await other.post(ROOT, json={"snapshot_id": snapshot})
    unknown = await home.client.post(ROOT, json={"snapshot_id": uuid4().hex})
    both = await home.client.post(
        ROOT, json={"snapshot_id": snapshot, "selected_repository": str(repository)}
    )

    assert_problem(foreign, 404, "snapshot_not_found")
    assert_problem(unknown, 404, "snapshot_not_found")
    assert_problem(both, 400, "two_origins")


async def test_a_start_that_is_under_way_is_not_archived(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    await home.client.post(f"{SANDBOXES}/{task['id']}/archive")
    await home.state["start_worker"].close()
    await home.client.post(f"{SANDBOXES}/{task['id']}/resume")

    reply = await home.client.post(f"{SANDBOXES}/{task['id']}/archive")
    assert_problem(reply, 409, "sandbox_not_at_rest")
