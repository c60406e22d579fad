"""Tests of the protocol's routes that create sandboxes before their conversations."""

from typing import Any
from uuid import UUID, uuid4

import httpx

from app_server.conversations.models import Conversation
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.app_server.problems import assert_problem
from tests.support.plain_http import NO_TLS

SANDBOXES = "/api/v1/sandboxes"


async def running(home: Home, sandbox_id: str) -> dict[str, Any]:
    async def check() -> Any:
        (found,) = (await home.client.get(SANDBOXES, params={"id": sandbox_id})).json()
        return found if found["status"] == "RUNNING" else None

    found: dict[str, Any] = await eventually(check)
    return found


async def test_a_sandbox_is_made_joined_and_removed(home: Home) -> None:
    made = await home.client.post(SANDBOXES)
    sandbox_id = made.json()["id"]
    assert (made.status_code, made.json()["status"]) == (200, "STARTING")
    assert made.json()["exposed_urls"] is None

    found = await running(home, sandbox_id)
    urls = {each["name"]: each["url"] for each in found["exposed_urls"]}
    key = {"X-Session-API-Key": found["session_api_key"]}
    assert (await home.client.get(f"{urls['AGENT_SERVER']}/alive", headers=key)).is_success

    secret = {"name": "HARBOUR_TOKEN", "value": "a-token-of-the-harbour", "description": "For ships"}
    (await home.client.post("/api/v1/secrets", json=secret)).raise_for_status()
    async with httpx.AsyncClient(base_url=str(home.client.base_url), verify=NO_TLS) as program:
        names = await program.get(f"{SANDBOXES}/{sandbox_id}/settings/secrets", headers=key)
        elsewhere = await program.get(f"{SANDBOXES}/{uuid4().hex}/settings/secrets", headers=key)
        value = await program.get(f"{SANDBOXES}/{sandbox_id}/settings/secrets/HARBOUR_TOKEN", headers=key)
    assert names.json() == {"secrets": [{"name": "HARBOUR_TOKEN", "description": "For ships"}]}
    assert_problem(elsewhere, 401, "session_key_invalid")
    assert value.status_code == 404

    task = await home.ready(sandbox_id=sandbox_id)
    assert task["sandbox_id"] == sandbox_id
    conversation = await home.conversation(task["id"])
    assert conversation["conversation_url"].startswith(task["agent_server_url"])
    own = {"X-Session-API-Key": conversation["session_api_key"]}
    async with httpx.AsyncClient(verify=NO_TLS) as program:
        url = conversation["conversation_url"]
        assert_problem(await program.get(url), 401, "session_key_missing")
        reply = await program.get(url, headers=own)
        other = f"{url[:-32]}{uuid4().hex}"
        assert_problem(await program.get(other, headers=own), 403, "other_conversation")
    assert UUID(reply.json()["id"]).hex == task["id"]
    beside = await home.ready(sandbox_id=sandbox_id)
    deleted = await home.client.delete(f"{SANDBOXES}/{sandbox_id}", params={"sandbox_id": sandbox_id})
    assert (deleted.status_code, deleted.json()) == (200, {"success": True})
    assert (await home.conversation(task["id"]))["sandbox_status"] == "MISSING"
    message = {"role": "user", "content": [{"type": "text", "text": "And then?"}]}
    refused = await home.client.post(f"{ROOT}/{task['id']}/send-message", json=message)
    assert_problem(refused, 409, "sandbox_deleted")
    assert_problem(await home.client.post(f"{ROOT}/{task['id']}/fork", json={}), 409, "sandbox_deleted")

    (await home.client.delete(f"{ROOT}/{task['id']}")).raise_for_status()

    async def is_removed() -> bool:
        async with home.database.read() as session:
            return await session.get(Conversation, UUID(task["id"])) is None

    await eventually(is_removed)
    assert (await home.conversation(beside["id"]))["sandbox_status"] == "MISSING"

    ended = await home.client.get(conversation["conversation_url"], headers=own)
    assert_problem(ended, 401, "session_key_invalid")
    assert (await home.client.get(SANDBOXES, params={"id": sandbox_id})).json() == [None]


async def test_an_empty_one_is_removed_by_its_owner_alone(home: Home) -> None:
    sandbox_id = (await home.client.post(SANDBOXES, params={"sandbox_spec_id": "default"})).json()["id"]
    one = f"{SANDBOXES}/{sandbox_id}"
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as stranger:
        assert_problem(await stranger.delete(one), 404, "sandbox_not_found")
    two = await home.client.delete(one, params={"sandbox_id": uuid4().hex})
    assert_problem(two, 400, "two_sandboxes")

    deleted = await home.client.delete(one, params={"sandbox_id": sandbox_id})

    assert (deleted.status_code, deleted.json()) == (200, {"success": True})
    assert (await home.client.get(SANDBOXES, params={"id": sandbox_id})).json() == [None]
    assert_problem(await home.client.delete(one), 404, "sandbox_not_found")
    unknown = await home.client.post(SANDBOXES, params={"sandbox_spec_id": uuid4().hex})
    # process sandboxes have no specs, because they use no images
    assert_problem(unknown, 403, "sandbox_specs_not_allowed")


async def test_there_are_not_any_number_of_empty_ones(home: Home) -> None:
    for _ in range(10):
        (await home.client.post(SANDBOXES)).raise_for_status()

    assert_problem(await home.client.post(SANDBOXES), 409, "too_many_empty_sandboxes")


async def test_a_message_waits_under_the_id_of_the_start_task(home: Home) -> None:
    task = await home.start()
    place = f"/api/v1/conversations/task-{task['id']}/pending-messages"
    message = {"role": "user", "content": [{"type": "text", "text": "And then?"}]}

    queued = await home.client.post(place, json={**message, "id": "mine"})
    waiting = (await home.client.get(place)).json()

    assert (queued.status_code, queued.json()["queued"]) == (201, True)
    assert [each["id"] for each in waiting] == ["mine"]
    nowhere = f"/api/v1/conversations/task-{uuid4().hex}/pending-messages"
    unknown = await home.client.post(nowhere, json=message)
    assert_problem(unknown, 404, "not_found")
    assert (await home.client.get("/api/v1/conversations/task-nothing/pending-messages")).status_code == 422
