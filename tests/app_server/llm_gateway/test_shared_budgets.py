"""Tests of monthly budgets of teams and the organisation, which limit the total spending of all members."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import update

from app_server.conversations.models import StartStatus, StartTask
from app_server.core.database import now
from app_server.core.errors import PaymentRequired
from app_server.llm_gateway.limits.models import SpendingAccount, SpendingReservation
from app_server.llm_gateway.limits.spending import Payer, monthly_id
from app_server.sandbox_records.models import SandboxStatus
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.settings.test_levels import ADMINISTRATION, ORGANISATION, STARTS, ada, put
from tests.app_server.sharing.test_sharing import person
from tests.app_server.teams.test_teams import new_team

__all__ = ["ada"]

LIMITS = "/api/v1/administration/spending-limits"


async def spend(app: App, client: httpx.AsyncClient, dollars: float) -> None:
    """Records the cost of a finished model call of the client's user."""
    spending = app.state["spending"]
    payer = Payer(UUID(client.headers["X-Test-User"]))
    spending.settle(await spending.reserve(payer, 0), payer, round(dollars * 1_000_000))
    # `close` waits until the cost is stored.
    await spending.close()


@pytest.mark.both_databases
async def test_a_team_spends_its_budget_together_and_others_go_on(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient, inner: httpx.AsyncClient
) -> None:
    await app.state["start_worker"].close()
    call = await caller(app, ada, inner)
    async with person(app, "Bob") as bob:
        team = await new_team(client, "Core", ada, bob)
        budget = f"{ADMINISTRATION}/teams/{team}/monthly_budget"
        assert_problem(await client.put(budget, json={"value": 5}), 400, "setting_must_be_enforced")
        await put(client, budget, 5, enforced=True)
        await put(client, f"{ORGANISATION}/monthly_budget", 50, enforced=True)
        await spend(app, ada, 2)
        assert (await call()).json()["code"] != "llm_administrator_limit_reached"
        await spend(app, bob, 3.5)
        refused = await call()
    assert_problem(refused, 402, "llm_administrator_limit_reached")
    body = refused.json()
    assert (body["set_by"], body["team"], body["limit"]) == ("team", "Core", 5.0)
    assert "the team 'Core' together have spent $5.50 of $5.00 this month" in body["detail"]
    frees_at = datetime.fromisoformat(body["frees_at"])
    assert (frees_at.day, now() < frees_at) == (1, True)
    shown = (await client.get(LIMITS)).json()["budgets"]
    assert sorted((one["team_name"] or "", one["limit"], one["spent"]) for one in shown) == [
        ("", 50.0, 5.5),
        ("Core", 5.0, 5.5),
    ]

    async with app.database.session() as session:
        long_ago = now() - timedelta(days=40)
        of_ada = SpendingAccount.id == monthly_id(UUID(ada.headers["X-Test-User"]))
        await session.execute(update(SpendingAccount).where(of_ada).values(began_at=long_ago))
    assert (await call()).json()["code"] != "llm_administrator_limit_reached", "a new month has begun for her"
    await put(client, f"{ORGANISATION}/monthly_budget", 3, enforced=True)
    refused = await call()
    assert_problem(refused, 402, "llm_administrator_limit_reached")
    assert (refused.json()["set_by"], refused.json()["team"]) == ("organisation", None)
    own = f"{ADMINISTRATION}/people/{ada.headers['X-Test-User']}/monthly_budget"
    person_has_none = await client.put(own, json={"value": 5, "enforced": True})
    assert_problem(person_has_none, 400, "setting_not_at_level")


@pytest.mark.both_databases
async def test_parallel_calls_of_all_members_pass_a_shared_budget_by_one_call_at_most(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    spending = app.state["spending"]
    async with person(app, "Bob") as bob:
        await new_team(client, "Core", ada, bob)
        await put(client, f"{ORGANISATION}/monthly_budget", 5, enforced=True)
        payers = [Payer(UUID(each.headers["X-Test-User"])) for each in (ada, bob)]
        began = await asyncio.gather(
            *(spending.reserve(payer, 4_000_000) for payer in payers * 4), return_exceptions=True
        )
        calls = [one for one in began if isinstance(one, UUID)]
        refusals = [one for one in began if isinstance(one, PaymentRequired)]
        assert (len(calls), len(refusals)) == (2, 6)
        assert "calls under way may cost $8.00 more" in refusals[0].detail
        assert {one.code for one in refusals} == {"llm_administrator_limit_reached"}

        async with app.database.session() as session:
            # Lets the reservations expire, as those of a killed server do.
            await session.execute(update(SpendingReservation).values(lease_until=now()))
        last = await spending.reserve(payers[0], 4_000_000)
        spending.settle(last, payers[0], 4_500_000)
        await spending.close()
        spending.settle(await spending.reserve(payers[1], 1), payers[1], 500_000)
        await spending.close()
        with pytest.raises(PaymentRequired):
            await spending.reserve(payers[0], 1)


async def caller(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient
) -> Callable[[], Awaitable[httpx.Response]]:
    """Creates a conversation of the client's user. Returns a function that calls a model from it. If the
    budgets allow the call, it still fails, because its body is empty.
    """
    id_ = UUID((await client.post(STARTS, json={})).raise_for_status().json()["id"])
    async with app.database.session() as session:
        ready = update(StartTask).where(StartTask.id == id_).values(status=StartStatus.READY)
        await session.execute(ready)
        user_id = UUID(client.headers["X-Test-User"])
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=id_, user_id=user_id)
        sandbox.session_key_hash, sandbox.status = token_hash("the-key"), SandboxStatus.RUNNING

    async def call() -> httpx.Response:
        path = f"/llm/mine/conversations/{id_}/v1/chat/completions"
        return await inner.post(path, json={}, headers={"X-Session-API-Key": "the-key"})

    return call
