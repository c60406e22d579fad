"""Tests of spending limits that administrators set for users through the API. The gateway enforces them."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.models import Conversation
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.scripted_llm import ScriptedLLM, say

LIMITS = "/api/v1/administration/spending-limits"
OWN = "/api/v1/settings/spending-limit"
VENDOR = "/llm/vendor/v1/chat/completions"
ASK = {"model": "ignored", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
"""A request whose cost is exactly the amount that the gateway reserves: ten tokens of the reply, one cent
each.
"""


@pytest.fixture
async def user(app: App, scripted_llm: ScriptedLLM) -> User:
    """Returns a user, Ada, with a conversation and its sandbox. In her profile `vendor`, each token of a
    reply costs one cent.
    """
    scripted_llm.fallback = say("hi", completion_tokens=10)
    llm = {
        "model": "openai/of-this-test",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
        "input_cost_per_token": 0,
        "output_cost_per_token": 0.01,
    }
    async with app.database.session() as session:
        # The user is an administrator, because the gateway calls a vendor on loopback only for
        # administrators.
        user = await create_user(session, name="Ada", role=Role.ADMIN)
        await save_profile(session, app.state["cipher"], user.id, "vendor", LLMSettings.model_validate(llm))
        conversation_id = uuid4()
        session.add(Conversation(id=conversation_id, user_id=user.id, llm_profile="vendor", last_seq=0))
        session.add(
            Sandbox(
                id=conversation_id,
                user_id=user.id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash("key-of-the-sandbox"),
                encrypted_session_key=app.state["cipher"].encrypt(new_token()),
                spec_id="process",
            )
        )
    return user


@pytest.fixture
async def sandbox(app: App, user: User) -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(app.inner, headers={"Authorization": "Bearer key-of-the-sandbox"}) as client:
        yield client


@pytest.fixture
async def ada(app: App, user: User) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client with an API key of the user Ada."""
    async with app.database.session() as session:
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


@pytest.fixture
async def member(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        somebody = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, somebody, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


async def limit_of(client: httpx.AsyncClient, user: User) -> dict[str, object]:
    shown = (await client.get(LIMITS)).raise_for_status().json()
    return next(each for each in shown["users"] if UUID(each["user_id"]) == user.id)


async def administered(client: httpx.AsyncClient) -> dict[str, object] | None:
    shown: dict[str, object] | None = (await client.get(OWN)).raise_for_status().json()["administered"]
    return shown


async def test_only_administrators_see_and_set_limits(member: httpx.AsyncClient, user: User) -> None:
    body = {"limit": 1, "period": "day"}
    for method, path in (
        ("GET", LIMITS),
        ("PUT", f"{LIMITS}/default"),
        ("PUT", f"{LIMITS}/users/{user.id}"),
        ("DELETE", f"{LIMITS}/users/{user.id}"),
    ):
        reply = await member.request(method, path, json=None if method in {"GET", "DELETE"} else body)
        assert_problem(reply, 403, "permission_missing")


async def test_a_limit_for_everyone_applies_to_users_without_calls(
    client: httpx.AsyncClient, sandbox: httpx.AsyncClient, scripted_llm: ScriptedLLM
) -> None:
    (await client.put(f"{LIMITS}/default", json={"limit": 0.10, "period": "day"})).raise_for_status()
    replies = await asyncio.gather(*(sandbox.post(VENDOR, json=ASK) for _ in range(20)))
    assert sorted(reply.status_code for reply in replies) == [200] + [402] * 19
    assert len(scripted_llm.requests) == 1


async def test_a_limit_for_everyone_applies_at_once_to_users_with_earlier_calls(
    client: httpx.AsyncClient, ada: httpx.AsyncClient, sandbox: httpx.AsyncClient, user: User
) -> None:
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()

    async def is_counted() -> bool:
        return (await limit_of(client, user))["spent"] == 0.10

    await eventually(is_counted)
    assert await administered(ada) is None
    (await client.put(f"{LIMITS}/default", json={"limit": 0.05})).raise_for_status()

    refused = await sandbox.post(VENDOR, json=ASK)
    assert_problem(refused, 402, "llm_administrator_limit_reached")
    assert refused.json()["detail"] == (
        "The spending limit that your administrator has set is reached: $0.10 of $0.05 are spent this month."
    )
    shown = await administered(ada)
    assert shown is not None
    assert (shown["limit"], shown["period"], shown["spent"]) == (0.05, "month", 0.10)

    (await client.put(f"{LIMITS}/default", json={"limit": None})).raise_for_status()
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()


async def test_the_lower_of_two_limits_counts(
    client: httpx.AsyncClient, ada: httpx.AsyncClient, sandbox: httpx.AsyncClient, user: User
) -> None:
    (await client.put(f"{LIMITS}/users/{user.id}", json={"limit": 0.20})).raise_for_status()
    (await ada.put(OWN, json={"limit": 0.10})).raise_for_status()
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()

    async def is_refused_with(code: str) -> bool:
        reply = await sandbox.post(VENDOR, json={**ASK, "max_tokens": 0})
        return bool(reply.status_code == 402 and reply.json()["code"] == code)

    assert await is_refused_with("llm_spending_limit_reached")
    # A user can raise their own limit, but only up to the administrator's limit.
    (await ada.post(f"{OWN}/raise", json={"by": 100})).raise_for_status()
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()
    assert await is_refused_with("llm_administrator_limit_reached")


async def test_a_users_limit_replaces_the_default_limit_until_it_is_removed(
    client: httpx.AsyncClient, ada: httpx.AsyncClient, user: User
) -> None:
    (await client.put(f"{LIMITS}/default", json={"limit": 5, "period": "day"})).raise_for_status()
    shown = await limit_of(client, user)
    assert (shown["name"], shown["limit"], shown["period"], shown["follows_default"]) == (
        "Ada",
        5,
        "day",
        True,
    )

    changed = await client.put(f"{LIMITS}/users/{user.id}", json={"limit": 50, "period": "month"})
    assert changed.raise_for_status().json() == await limit_of(client, user)
    (await client.put(f"{LIMITS}/default", json={"limit": 6, "period": "day"})).raise_for_status()
    shown = await limit_of(client, user)
    assert (shown["limit"], shown["period"], shown["follows_default"]) == (50, "month", False)

    (await client.put(f"{LIMITS}/users/{user.id}", json={"limit": None})).raise_for_status()
    assert await administered(ada) is None

    taken = (await client.delete(f"{LIMITS}/users/{user.id}")).raise_for_status().json()
    assert (taken["limit"], taken["period"], taken["follows_default"]) == (6, "day", True)
    shown = (await client.get(LIMITS)).raise_for_status().json()
    assert shown["default"] == {"limit": 6, "period": "day"}


async def test_an_administrator_may_limit_only_whom_there_is(client: httpx.AsyncClient) -> None:
    unknown = f"{LIMITS}/users/{uuid4()}"
    assert_problem(await client.put(unknown, json={"limit": 1}), 404, "not_found")
    assert_problem(await client.delete(unknown), 404, "not_found")


@pytest.mark.parametrize("body", [{}, {"limit": -1}, {"limit": 1, "period": "whole"}, {"limit": 1, "x": 1}])
async def test_a_limit_that_makes_no_sense_is_refused(
    client: httpx.AsyncClient, user: User, body: dict[str, object]
) -> None:
    for path in ("default", f"users/{user.id}"):
        assert (await client.put(f"{LIMITS}/{path}", json=body)).status_code == 422
