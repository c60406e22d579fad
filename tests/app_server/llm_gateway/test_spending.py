"""Tests of limits on the cost of model calls, with a sandbox's key, the gateway, and a vendor on loopback
with known prices.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import orjson
import pytest
from sqlalchemy import func, select
from starlette.requests import ClientDisconnect
from starlette.types import Message, Scope

from app_server.conversations.models import Conversation
from app_server.core.database import now
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount, SpendingReservation
from app_server.llm_gateway.limits.spending import (
    Payer,
    allow_as_much_again,
    allow_conversation,
    start_of,
    user_account,
)
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.users.models import User
from app_server.users.tokens import new_token, token_hash
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, cut, fail, say

VENDOR = "/llm/vendor/v1/chat/completions"
LIMIT = "/api/v1/settings/spending-limit"
CENTS_PER_CALL = 10
ASK = {"model": "ignored", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
"""A request whose cost is exactly the amount that the gateway reserves: ten tokens of the reply, one cent
each.
"""


@pytest.fixture
async def payer(app: App, owner: User) -> Payer:
    """Stores a conversation of the owner and its sandbox. Returns the user and the conversation that pay for
    the model calls.
    """
    sandbox_id = uuid4()
    async with app.database.session() as session:
        session.add(Conversation(id=sandbox_id, user_id=owner.id, llm_profile="vendor", last_seq=0))
        session.add(
            Sandbox(
                id=sandbox_id,
                user_id=owner.id,
                status=SandboxStatus.PAUSED,
                session_key_hash=token_hash("key-of-the-sandbox"),
                encrypted_session_key=app.state["cipher"].encrypt(new_token()),
                spec_id="process",
            )
        )
    return Payer(owner.id, sandbox_id)


@pytest.fixture
async def sandbox(app: App, payer: Payer) -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(app.inner, headers={"Authorization": "Bearer key-of-the-sandbox"}) as client:
        yield client


@pytest.fixture
async def vendor(app: App, owner: User, scripted_llm: ScriptedLLM) -> ScriptedLLM:
    scripted_llm.fallback = say("hi", completion_tokens=10)
    await _save(app, owner, scripted_llm, input_cost_per_token=0, output_cost_per_token=0.01)
    return scripted_llm


async def _save(app: App, owner: User, vendor: ScriptedLLM, **prices: float) -> None:
    llm = {"model": "openai/of-this-test", "base_url": vendor.base_url, "api_key": vendor.api_key, **prices}
    async with app.database.session() as session:
        await save_profile(session, app.state["cipher"], owner.id, "vendor", LLMSettings.model_validate(llm))


async def _spent(client: httpx.AsyncClient) -> float:
    spent: float = (await client.get(LIMIT)).raise_for_status().json()["spent"]
    return spent


@pytest.mark.both_databases
async def test_what_calls_cost_is_counted_without_any_limit(
    client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    shown = (await client.get(LIMIT)).json()
    assert (shown["limit"], shown["period"], shown["spent"]) == (None, "month", 0)

    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()
    (await sandbox.post(VENDOR, json={**ASK, "stream": True})).raise_for_status()

    await eventually(lambda: _is_spent(client, 0.20))


async def _is_spent(client: httpx.AsyncClient, dollars: float) -> bool:
    return await _spent(client) == dollars


async def test_a_user_whose_limit_is_reached_is_told_so_and_raises_it(
    client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    (await client.put(LIMIT, json={"limit": 0.10, "period": "day"})).raise_for_status()
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()
    await eventually(lambda: _is_spent(client, 0.10))

    refused = await sandbox.post(VENDOR, json=ASK)
    assert_problem(refused, 402, "llm_spending_limit_reached")
    assert refused.json()["detail"] == "Your spending limit is reached: $0.10 of $0.10 are spent today."
    assert len(vendor.requests) == 1

    raised = (await client.post(f"{LIMIT}/raise", json={"by": 0.05})).raise_for_status().json()
    assert (raised["limit"], raised["raised"], raised["spent"]) == (0.10, 0.05, 0.10)
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()


@pytest.mark.both_databases
async def test_a_hundred_calls_at_once_keep_a_limit_for_ten(
    app: App, client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    (await client.put(LIMIT, json={"limit": 1.0})).raise_for_status()

    replies = await asyncio.gather(*(sandbox.post(VENDOR, json=ASK) for _ in range(100)))

    assert sorted(reply.status_code for reply in replies) == [200] * 10 + [402] * 90
    assert len(vendor.requests) == 10
    await eventually(lambda: _is_spent(client, 1.0))
    assert await _reservations(app) == 0


async def _reservations(app: App) -> int:
    async with app.database.read() as session:
        return int(await session.scalar(select(func.count()).select_from(SpendingReservation)) or 0)


async def test_a_call_that_the_vendor_refuses_costs_nothing(
    app: App, client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    (await client.put(LIMIT, json={"limit": 1.0})).raise_for_status()
    vendor.script(fail(500))
    assert (await sandbox.post(VENDOR, json=ASK)).status_code == 500
    await eventually(lambda: _has_no_reservations(app))
    assert await _spent(client) == 0


async def _has_no_reservations(app: App) -> bool:
    return await _reservations(app) == 0


async def test_a_reply_that_breaks_off_is_estimated(
    app: App, client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    (await client.put(LIMIT, json={"limit": 100.0})).raise_for_status()
    vendor.script(cut(say("half of a sentence that goes on and on"), after=3))
    async with (
        listening(app.inner) as url,
        httpx.AsyncClient(base_url=url, headers=sandbox.headers, timeout=PATIENCE_SECONDS) as real,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await real.post(VENDOR, json={**ASK, "stream": True})
    await eventually(lambda: _has_no_reservations(app))
    assert await _spent(client) > 0


async def test_a_caller_that_leaves_before_the_reply_begins_keeps_no_reservation(
    app: App, client: httpx.AsyncClient, vendor: ScriptedLLM, payer: Payer
) -> None:
    (await client.put(LIMIT, json={"limit": 100.0})).raise_for_status()
    messages: list[Message] = [
        {"type": "http.request", "body": orjson.dumps({**ASK, "stream": True}), "more_body": False},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return messages.pop(0)

    async def send(_message: Message) -> None:
        raise OSError("nobody is there")

    with suppress(ClientDisconnect, OSError):
        await app.inner(_scope_of(VENDOR), receive, send)

    assert len(vendor.requests) == 1
    await eventually(lambda: _has_no_reservations(app))


def _scope_of(path: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer key-of-the-sandbox")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


@pytest.mark.both_databases
@pytest.mark.parametrize(("lease", "status"), [(timedelta(minutes=1), 402), (timedelta(seconds=-1), 200)])
async def test_what_a_killed_server_had_reserved_is_free_once_its_lease_has_lapsed(
    app: App,
    payer: Payer,
    client: httpx.AsyncClient,
    sandbox: httpx.AsyncClient,
    vendor: ScriptedLLM,
    lease: timedelta,
    status: int,
) -> None:
    (await client.put(LIMIT, json={"limit": 1.0})).raise_for_status()
    async with app.database.session() as session:
        session.add(
            SpendingReservation(
                account_id=payer.user_id, call_id=uuid4(), amount=MICROS, lease_until=now() + lease
            )
        )
    assert (await sandbox.post(VENDOR, json=ASK)).status_code == status


async def test_a_limit_that_cannot_be_kept_is_not_ignored(
    app: App, owner: User, client: httpx.AsyncClient, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    await _save(app, owner, vendor)
    (await client.put(LIMIT, json={"limit": 1.0})).raise_for_status()
    assert_problem(await sandbox.post(VENDOR, json=ASK), 402, "llm_price_unknown")

    (await client.put(LIMIT, json={"limit": None})).raise_for_status()
    assert (await sandbox.post(VENDOR, json=ASK)).status_code == 200


async def test_a_conversation_that_has_spent_its_budget_gets_as_much_again(
    app: App, payer: Payer, sandbox: httpx.AsyncClient, vendor: ScriptedLLM
) -> None:
    async with app.database.session() as session:
        await allow_conversation(session, payer, 0.10)
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()
    assert payer.conversation_id
    await eventually(lambda: _has_spent(app, payer.conversation_id, MICROS // 10))

    refused = await sandbox.post(VENDOR, json=ASK)
    assert_problem(refused, 402, "llm_budget_reached")
    assert refused.json()["detail"] == "The budget of this conversation is spent: $0.10 of $0.10 are spent."

    async with app.database.session() as session:
        await allow_as_much_again(session, payer)
    (await sandbox.post(VENDOR, json=ASK)).raise_for_status()
    await eventually(lambda: _has_spent(app, payer.conversation_id, MICROS // 5))
    assert_problem(await sandbox.post(VENDOR, json=ASK), 402, "llm_budget_reached")


@pytest.mark.both_databases
async def test_a_raised_budget_counts_from_what_the_user_saw(app: App, payer: Payer) -> None:
    """The gateway also counts replies that were cut off, but the user does not see their cost. So a user who
    sees 1 dollar spent and allows 2 adds 1 dollar to the amount that the gateway has counted.
    """
    async with app.database.session() as session:
        await allow_conversation(session, payer, 1.0)
        account = await session.get_one(SpendingAccount, payer.conversation_id)
        account.spent = 3 * MICROS
    async with app.database.session() as session:
        await allow_conversation(session, payer, 2.0, spent_before=1.0)
    async with app.database.read() as session:
        account = await session.get_one(SpendingAccount, payer.conversation_id)
    assert account.limit == 4 * MICROS


async def _has_spent(app: App, account_id: UUID | None, micros: int) -> bool:
    async with app.database.read() as session:
        account = await session.get(SpendingAccount, account_id)
    return account is not None and account.spent == micros


@pytest.mark.both_databases
async def test_a_period_begins_anew_and_forgets_what_was_added(
    app: App, payer: Payer, client: httpx.AsyncClient
) -> None:
    (await client.put(LIMIT, json={"limit": 1.0, "period": "month"})).raise_for_status()
    (await client.post(f"{LIMIT}/raise", json={"by": 5})).raise_for_status()
    async with app.database.session() as session:
        account = await user_account(session, payer.user_id)
        account.spent, account.began_at = 3 * MICROS, now() - timedelta(days=40)

    shown = (await client.get(LIMIT)).json()

    assert (shown["limit"], shown["raised"], shown["spent"]) == (1.0, 0, 0)


@pytest.mark.parametrize(
    ("period", "moment", "start"),
    [
        (Period.DAY, "2026-03-31T23:59:59", "2026-03-31T00:00:00"),
        (Period.MONTH, "2026-03-31T23:59:59", "2026-03-01T00:00:00"),
        (Period.MONTH, "2026-01-01T00:00:00", "2026-01-01T00:00:00"),
    ],
)
def test_periods_begin_at_midnight_utc(period: Period, moment: str, start: str) -> None:
    at, expected = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (moment, start))
    assert start_of(period, at) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 5e-324, "period": "day"},
        {"limit": 1, "period": "whole"},
        {"limit": "much"},
        {},
    ],
)
async def test_a_limit_that_makes_no_sense_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert_problem(await client.put(LIMIT, json=body), 422, "validation_failed")
