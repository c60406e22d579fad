"""Tests of the API for sandboxes, and of the session key that opens the inner listener."""

from uuid import UUID, uuid4

import httpx

from app_server.core.database import Database
from app_server.core.pagination import encode_page_id
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.auth import authenticate
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import Role, User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem


async def make_sandbox(app: App, user: User) -> tuple[UUID, str]:
    """Stores a sandbox of the user that is never started. Returns its id and its session key."""
    key = new_token()
    sandbox = Sandbox(
        id=uuid4(),
        user_id=user.id,
        status=SandboxStatus.PAUSED,
        session_key_hash=token_hash(key),
        encrypted_session_key="",
        spec_id="process",
        server_id=app.state["sandboxes"].server_id,
    )
    async with app.database.session() as session:
        session.add(sandbox)
    return sandbox.id, key


async def make_stranger(database: Database) -> User:
    stranger = User(id=uuid4(), name="Stranger", role=Role.MEMBER)
    async with database.session() as session:
        session.add(stranger)
    return stranger


async def test_search_walks_all_own_sandboxes_newest_first(
    app: App, owner: User, client: httpx.AsyncClient
) -> None:
    ids = [(await make_sandbox(app, owner))[0] for _ in range(5)]
    await make_sandbox(app, await make_stranger(app.database))
    found: list[str] = []
    page_id = None
    while True:
        params = {"limit": "2"} | ({"page_id": page_id} if page_id else {})
        page = (await client.get("/api/v1/sandboxes/search", params=params)).json()
        found += [item["id"] for item in page["items"]]
        page_id = page["next_page_id"]
        if page_id is None:
            break

    assert found == [sandbox_id.hex for sandbox_id in reversed(ids)]


async def test_a_batch_has_null_for_what_is_missing_or_another_users(
    app: App, owner: User, client: httpx.AsyncClient
) -> None:
    mine, key = await make_sandbox(app, owner)
    foreign, _ = await make_sandbox(app, await make_stranger(app.database))
    reply = await client.get("/api/v1/sandboxes", params={"id": [foreign.hex, str(mine), uuid4().hex]})

    assert [item and item["id"] for item in reply.json()] == [None, mine.hex, None]
    assert reply.json()[1]["status"] == "PAUSED"
    assert reply.json()[1]["session_api_key"] is None
    assert key not in reply.text


async def test_bad_page_ids_and_ids_are_problems(client: httpx.AsyncClient) -> None:
    out_of_range = encode_page_id("0001-01-01T00:00:00.0+14:00", uuid4().hex)
    for page_id in ("x", "MjAyNgpub3BlCg", "MjAyNi0xMS0yMFQwMDowMDowMAphYg", out_of_range):
        for path in ("/api/v1/sandboxes/search", "/api/v1/settings/network/records"):
            reply = await client.get(path, params={"page_id": page_id})
            assert (reply.status_code, reply.json()["code"]) == (400, "bad_page_id")
    assert (await client.get("/api/v1/sandboxes", params={"id": "nonsense"})).status_code == 422
    assert (await client.get("/api/v1/sandboxes")).status_code == 422


async def test_a_sandbox_that_was_given_up_can_be_resumed_by_its_owner_alone(
    app: App, owner: User, client: httpx.AsyncClient
) -> None:
    database: Database = app.state["database"]
    mine, _ = await make_sandbox(app, owner)
    foreign, _ = await make_sandbox(app, await make_stranger(database))
    async with database.session() as session:
        (await session.get_one(Sandbox, mine)).status = SandboxStatus.ERROR

    assert (await client.post(f"/api/v1/sandboxes/{mine.hex}/resume")).json() == {"success": True}

    async with database.read() as session:
        assert (await session.get_one(Sandbox, mine)).status != SandboxStatus.ERROR
    for other in (foreign, uuid4()):
        assert_problem(await client.post(f"/api/v1/sandboxes/{other.hex}/resume"), 404, "sandbox_not_found")


async def test_a_sandbox_is_put_to_sleep_by_its_owner_alone(
    app: App, owner: User, client: httpx.AsyncClient
) -> None:
    mine, _ = await make_sandbox(app, owner)
    foreign, _ = await make_sandbox(app, await make_stranger(app.database))
    async with app.database.session() as session:
        (await session.get_one(Sandbox, mine)).status = SandboxStatus.ERROR

    assert (await client.post(f"/api/v1/sandboxes/{mine.hex}/pause")).json() == {"success": True}
    async with app.database.read() as session:
        assert (await session.get_one(Sandbox, mine)).status == SandboxStatus.PAUSED
    for other in (foreign, uuid4()):
        assert_problem(await client.post(f"/api/v1/sandboxes/{other.hex}/pause"), 404, "sandbox_not_found")


async def test_sandboxes_are_for_the_signed_in_only(anonymous: httpx.AsyncClient) -> None:
    assert (await anonymous.get("/api/v1/sandboxes/search")).status_code == 401


async def test_a_session_key_finds_its_sandbox_and_no_other_key_does(app: App, owner: User) -> None:
    sandbox_id, key = await make_sandbox(app, owner)
    async with app.database.read() as session:
        found = await authenticate(session, key)
        stranger = await authenticate(session, key + "x")

    assert found is not None
    assert found.id == sandbox_id
    assert stranger is None


async def test_a_new_sandbox_has_a_key_that_only_its_hash_reveals(app: App, owner: User) -> None:
    sandboxes: Sandboxes = app.state["sandboxes"]
    sandbox_id = uuid4()
    async with app.database.session() as session:
        sandbox = await sandboxes.create(session, sandbox_id=sandbox_id, user_id=owner.id)
    key = app.state["cipher"].decrypt(sandbox.encrypted_session_key)

    assert sandbox.status == SandboxStatus.STARTING
    assert sandbox.session_key_hash == token_hash(key)
    assert key not in sandbox.encrypted_session_key
