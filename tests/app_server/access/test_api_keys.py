from datetime import datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select, update

from app_server.core.database import now
from app_server.users.models import ApiKey, Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem


async def test_a_request_without_a_key_is_refused(anonymous: httpx.AsyncClient) -> None:
    for path in ("/api/v1/users/me", "/api/v1/api-keys", "/api/v1/settings/profiles"):
        assert_problem(await anonymous.get(path), 401, "not_authenticated")


async def test_the_first_start_makes_an_owner(client: httpx.AsyncClient, owner: User) -> None:
    me = await client.get("/api/v1/users/me")
    who = {"id": owner.id.hex, "name": "Owner", "role": "owner"}
    assert me.json() == {**me.json(), **who}


@pytest.mark.parametrize("header", ["X-Session-API-Key", "Authorization"])
async def test_a_created_key_acts_for_its_user(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, header: str
) -> None:
    created = await client.post("/api/v1/api-keys", json={"name": " laptop "})
    assert created.status_code == 201
    key = created.json()["key"]
    assert key.startswith("slw_")
    assert created.json()["name"] == "laptop"
    assert key.startswith(created.json()["prefix"])
    value = f"Bearer {key}" if header == "Authorization" else key
    assert (await anonymous.get("/api/v1/users/me", headers={header: value})).status_code == 200


async def test_a_key_is_shown_once_and_kept_only_as_a_hash(client: httpx.AsyncClient, app: App) -> None:
    key = (await client.post("/api/v1/api-keys", json={"name": "once"})).json()["key"]
    listed = await client.get("/api/v1/api-keys")
    assert key not in listed.text
    shown = {"id", "name", "prefix", "scopes", "addresses", "created_at", "expires_at", "last_used_at"}
    assert shown == set(listed.json()[0])
    async with app.database.read() as session:
        rows = (await session.scalars(select(ApiKey))).all()
    assert all(key not in (row.key_hash, row.prefix) for row in rows)


async def test_a_deleted_key_opens_nothing(client: httpx.AsyncClient, anonymous: httpx.AsyncClient) -> None:
    created = (await client.post("/api/v1/api-keys", json={"name": "old"})).json()
    assert (await client.delete(f"/api/v1/api-keys/{created['id']}")).status_code == 204
    reply = await anonymous.get("/api/v1/users/me", headers={"X-Session-API-Key": created["key"]})
    assert_problem(reply, 401, "not_authenticated")


async def test_a_key_of_another_user_is_not_found(client: httpx.AsyncClient, app: App) -> None:
    async with app.database.session() as session:
        stranger = await create_user(session, name="Stranger", role=Role.MEMBER)
        row, _ = await create_api_key(session, stranger, name="theirs")
    assert_problem(await client.delete(f"/api/v1/api-keys/{row.id}"), 404, "api_key_not_found")
    assert_problem(await client.delete(f"/api/v1/api-keys/{uuid4()}"), 404, "api_key_not_found")


@pytest.mark.both_databases
async def test_use_is_noted_at_most_once_a_minute(client: httpx.AsyncClient, app: App) -> None:
    async def used_at() -> datetime | None:
        async with app.database.read() as session:
            return await session.scalar(select(ApiKey.last_used_at))

    async def is_noted() -> bool:
        noted = await used_at()
        return noted is not None and now() - noted < timedelta(minutes=1)

    await client.get("/api/v1/users/me")
    await eventually(is_noted)
    first = await used_at()
    await client.get("/api/v1/users/me")
    await client.get("/api/v1/users/me")
    assert await used_at() == first
    async with app.database.session() as session:
        await session.execute(update(ApiKey).values(last_used_at=now() - timedelta(minutes=2)))
    await client.get("/api/v1/users/me")
    await eventually(is_noted)


async def test_a_wrong_key_is_not_forgiven_for_a_good_cookie(app: App, client: httpx.AsyncClient) -> None:
    async with http_client(app.public, headers={"X-Session-API-Key": "slw_wrong"}) as mixed:
        mixed.cookies.set("slipway_session", "whatever")
        assert_problem(await mixed.get("/api/v1/users/me"), 401, "not_authenticated")


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "  "}, {"name": "x" * 201}, {"name": None}, {"name": ["a"]}, [], "x"]
)
async def test_a_name_must_be_a_short_text(client: httpx.AsyncClient, body: object) -> None:
    assert_problem(await client.post("/api/v1/api-keys", json=body), 422, "validation_failed")


@pytest.mark.both_databases
async def test_a_key_ends_with_its_time(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, app: App
) -> None:
    created = (await client.post("/api/v1/api-keys", json={"name": "brief", "expires_in_days": 1})).json()
    lasts = datetime.fromisoformat(created["expires_at"]) - datetime.fromisoformat(created["created_at"])
    assert timedelta(hours=23) < lasts < timedelta(hours=25)
    header = {"X-Session-API-Key": created["key"]}
    assert (await anonymous.get("/api/v1/users/me", headers=header)).status_code == 200
    async with app.database.session() as session:
        brief = update(ApiKey).where(ApiKey.name == "brief")
        await session.execute(brief.values(expires_at=now() - timedelta(seconds=1)))
    assert_problem(await anonymous.get("/api/v1/users/me", headers=header), 401, "api_key_expired")


async def test_a_key_creates_no_stronger_key(client: httpx.AsyncClient, anonymous: httpx.AsyncClient) -> None:
    asked = {"name": "weak", "scopes": ["keys", "work"], "expires_in_days": 7}
    weak = (await client.post("/api/v1/api-keys", json=asked)).json()
    assert weak["scopes"] == ["read", "work", "keys"]
    anonymous.headers["X-Session-API-Key"] = weak["key"]

    async def ask(**body: object) -> httpx.Response:
        return await anonymous.post("/api/v1/api-keys", json={"name": "next", **body})

    assert_problem(await ask(scopes=["settings"]), 403, "stronger_key")
    assert_problem(await ask(scopes=["work", "administer"]), 403, "stronger_key")
    assert_problem(await ask(expires_in_days=8), 403, "stronger_key")
    like_it = (await ask()).json()
    assert (like_it["scopes"], like_it["expires_at"]) == (weak["scopes"], weak["expires_at"])
    weaker = (await ask(scopes=["read"], expires_in_days=2)).json()
    assert weaker["scopes"] == ["read"]
    assert weaker["expires_at"] < weak["expires_at"]


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"expires_in_days": 0},
        {"expires_in_days": 9999},
        {"more": 1},
    ],
)
async def test_limits_of_a_key_are_checked(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    reply = await client.post("/api/v1/api-keys", json={"name": "x", **body})
    assert_problem(reply, 422, "validation_failed")


async def test_a_key_counts_only_from_its_addresses(client: httpx.AsyncClient, app: App) -> None:
    body = {"name": "office", "addresses": ["192.0.2.7", "2001:db8::/32"]}
    created = (await client.post("/api/v1/api-keys", json=body)).json()
    assert created["addresses"] == ["192.0.2.7/32", "2001:db8::/32"]
    for address, status in {
        "192.0.2.7": 200,
        "::ffff:192.0.2.7": 200,
        "2001:db8::1": 200,
        "192.0.2.8": 401,
        "2001:db9::1": 401,
    }.items():
        transport = httpx.ASGITransport(app.public, client=(address, 1))
        headers = {"Authorization": f"Bearer {created['key']}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost:3000", headers=headers
        ) as caller:
            reply = await caller.get("/api/v1/users/me")
        assert reply.status_code == status, address
        if status == 401:
            assert_problem(reply, 401, "api_key_address_not_allowed")
    refused = await client.post("/api/v1/api-keys", json={"name": "x", "addresses": ["office"]})
    assert_problem(refused, 422, "validation_failed")


async def test_a_key_with_addresses_makes_none_that_counts_elsewhere(
    client: httpx.AsyncClient, app: App
) -> None:
    body = {"name": "office", "addresses": ["192.0.2.0/24"]}
    key = (await client.post("/api/v1/api-keys", json=body)).json()["key"]
    transport = httpx.ASGITransport(app.public, client=("192.0.2.7", 1))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost:3000", headers={"Authorization": f"Bearer {key}"}
    ) as caller:
        inherited = await caller.post("/api/v1/api-keys", json={"name": "inherits"})
        narrower = await caller.post("/api/v1/api-keys", json={"name": "in", "addresses": ["192.0.2.8"]})
        wider = await caller.post("/api/v1/api-keys", json={"name": "out", "addresses": ["198.51.100.1"]})

    assert inherited.json()["addresses"] == ["192.0.2.0/24"]
    assert narrower.json()["addresses"] == ["192.0.2.8/32"]
    assert_problem(wider, 403, "stronger_key")
