"""Tests of a user's secrets: they are saved in the settings, used by a command in a sandbox, and shown
nowhere.
"""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.secrets.models import Secret
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user, find_owner
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

ROUTE = "/api/v1/secrets"
CANARY = "canary-value-71c0"


async def save(client: httpx.AsyncClient, name: str = "TOKEN", **fields: Any) -> httpx.Response:
    return await client.post(ROUTE, json={"name": name, "value": CANARY, **fields})


async def listed(client: httpx.AsyncClient) -> Any:
    return (await client.get(f"{ROUTE}/search")).json()["items"]


async def test_values_go_in_encrypted_and_never_come_out(app: App, client: httpx.AsyncClient) -> None:
    reply = await save(client, description="Opens the staging server")
    assert reply.status_code == 201
    saved = {"name": "TOKEN", "description": "Opens the staging server"}
    assert reply.json() == {**saved, "message": "The secret is saved."}
    assert await listed(client) == [saved]
    async with app.database.read() as session:
        stored = await session.scalar(select(Secret))
    assert stored is not None
    assert CANARY not in stored.value_encrypted
    assert app.state["cipher"].decrypt(stored.value_encrypted) == CANARY


async def test_one_is_replaced_renamed_and_deleted(client: httpx.AsyncClient) -> None:
    await save(client)
    await save(client, description="Again")
    assert await listed(client) == [{"name": "TOKEN", "description": "Again"}]

    await save(client, "OTHER")
    taken = await client.put(f"{ROUTE}/TOKEN", json={"name": "OTHER"})
    assert_problem(taken, 409, "secret_exists")
    renamed = await client.put(f"{ROUTE}/TOKEN", json={"name": "KEY", "description": None})
    assert renamed.json() == {"name": "KEY", "description": None, "message": "The secret is changed."}
    deleted = await client.delete(f"{ROUTE}/KEY")
    assert (deleted.status_code, deleted.json()) == (200, {"message": "The secret is deleted."})
    assert_problem(await client.delete(f"{ROUTE}/KEY"), 404, "secret_not_found")
    assert [item["name"] for item in await listed(client)] == ["OTHER"]


async def test_they_are_searched_page_by_page(client: httpx.AsyncClient) -> None:
    for name in ("GITHUB_A", "github_b", "GITHUB_C", "OTHER", "A_B", "AXB"):
        await save(client, name)

    async def page(**params: Any) -> Any:
        return (await client.get(f"{ROUTE}/search", params=params)).json()

    found = [(await page(name__contains="hub", limit=2))]
    while found[-1]["next_page_id"]:
        found.append(await page(name__contains="hub", limit=2, page_id=found[-1]["next_page_id"]))
    names = [[item["name"] for item in one["items"]] for one in found]
    assert sorted(name for one in names for name in one) == ["GITHUB_A", "GITHUB_C", "github_b"]
    assert [len(one) for one in names] == [2, 1]
    # The underscore matches only itself, although it matches any character in SQL.
    assert [item["name"] for item in (await page(name__contains="A_B"))["items"]] == ["A_B"]
    refused = await client.get(f"{ROUTE}/search", params={"page_id": "nonsense!"})
    assert_problem(refused, 400, "bad_page_id")


@pytest.mark.parametrize(
    "fields",
    [{"name": "a b"}, {"name": "PATH"}, {"name": "LD_PRELOAD"}, {"value": "abc"}, {"value": "x" * 20_000}],
)
async def test_what_cannot_be_one_is_refused_without_being_repeated(
    client: httpx.AsyncClient, fields: dict[str, str]
) -> None:
    reply = await save(client, **fields)
    assert_problem(reply, 422, "validation_failed")
    assert CANARY not in reply.text


async def test_another_user_has_others(app: App, client: httpx.AsyncClient) -> None:
    await save(client)
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        assert await listed(other) == []
        assert_problem(await other.delete(f"{ROUTE}/TOKEN"), 404, "secret_not_found")


async def test_only_the_owners_running_sandbox_looks_one_up_and_only_at_its_own_address(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient
) -> None:
    await save(client)
    await app.state["start_worker"].close()
    ids: dict[str, UUID] = {}
    async with app.database.session() as session:
        owner = await find_owner(session)
        assert owner is not None
        stranger = await create_user(session, name="Somebody", role=Role.MEMBER)
        for key, user in (("own-key", owner), ("other-key", owner), ("foreign-key", stranger)):
            sandbox = await app.state["sandboxes"].create(session, sandbox_id=uuid4(), user_id=user.id)
            sandbox.session_key_hash, sandbox.status = token_hash(key), SandboxStatus.RUNNING
            ids[key] = sandbox.id

    async def look_up(key: str, sandbox: str) -> httpx.Response:
        return await inner.get(
            f"/api/v1/sandboxes/{ids[sandbox].hex}/settings/secrets/TOKEN", headers={"X-Session-API-Key": key}
        )

    listed = await inner.get(
        f"/api/v1/sandboxes/{ids['own-key'].hex}/settings/secrets", headers={"X-Session-API-Key": "own-key"}
    )
    assert [each["name"] for each in listed.json()["secrets"]] == ["TOKEN"]
    assert CANARY not in listed.text
    assert (await look_up("own-key", "own-key")).text == CANARY
    assert_problem(await look_up("no-key", "own-key"), 401, "not_authenticated")
    assert_problem(await look_up("other-key", "own-key"), 404, "secret_not_found")
    assert_problem(await look_up("foreign-key", "foreign-key"), 404, "secret_not_found")
    async with app.database.session() as session:
        (await session.get_one(Sandbox, ids["own-key"])).status = SandboxStatus.PAUSED
    assert_problem(await look_up("own-key", "own-key"), 404, "secret_not_found")
