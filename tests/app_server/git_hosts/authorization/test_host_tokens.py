"""Tests of tokens that expire: one server renews them once, and no new token is lost."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select

from app_server.core.errors import AppError
from app_server.git.address import parse_address
from app_server.git.models import GitGrant
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.git_hosts.authorization.conftest import APPS, CREDENTIALS, Door
from tests.app_server.problems import assert_problem

API = "/api/v1"


def of_another_server(app: App) -> HostTokens:
    """Returns the `HostTokens` of a second app server on the same database."""
    state = app.state
    return HostTokens(app.database, state["cipher"], state["http"], state["guarded_http"])


@pytest.mark.both_databases
async def test_two_servers_renew_a_token_once(door: Door, owner: User) -> None:
    await door.connect()
    first = await door.token()
    await door.grow_old(expired=True)
    door.host.may_renew.clear()
    address = parse_address(f"{door.host.origin}/team/harbour", None)
    servers = (door.app.state["git_tokens"], of_another_server(door.app))
    calls = [
        asyncio.create_task(server.credentials(owner.id, address)) for server in servers for _ in range(5)
    ]
    await asyncio.to_thread(door.host.asked_to_renew.wait)
    door.host.may_renew.set()
    found = {credentials and credentials.password for credentials in await asyncio.gather(*calls)}
    assert found == {await door.token()} == door.host.live
    assert (first in found, door.host.renewals, door.host.replayed) == (False, 1, [])
    await door.grow_old(expired=True)
    renewed = await servers[1].credentials(owner.id, address)
    assert renewed is not None
    assert renewed.password in door.host.live
    assert (door.host.renewals, door.host.replayed) == (2, [])


async def test_the_lifetime_of_a_token_does_not_begin_when_a_slow_reply_arrives(
    door: Door, owner: User
) -> None:
    door.host.life_seconds = 1000
    await door.connect()
    await door.grow_old(expired=True)
    assert await door.app.state["git_tokens"].token(owner.id, door.host.origin)
    async with door.app.database.read() as session:
        grant = (await session.scalars(select(GitGrant))).one()
    assert grant.expires_at is not None
    assert grant.renew_at is not None
    assert grant.expires_at <= door.host.granted_at[-1] + timedelta(seconds=1000)
    assert grant.expires_at - grant.renew_at == timedelta(seconds=200)


async def test_new_tokens_are_kept_when_the_caller_has_gone(door: Door, owner: User) -> None:
    await door.connect()
    await door.grow_old(expired=True)
    door.host.may_renew.clear()
    call = asyncio.create_task(door.app.state["git_tokens"].token(owner.id, door.host.origin))
    await asyncio.to_thread(door.host.asked_to_renew.wait)
    call.cancel()
    door.host.may_renew.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await door.token() in door.host.live
    assert (await door.who()).json()["login"] == "ada"


async def test_clients_renew_before_a_call_and_after_a_refusal(door: Door) -> None:
    await door.connect(api_url=f"{door.host.origin}{API}")
    await door.grow_old()
    assert (await door.who()).json()["login"] == "ada"
    assert door.host.renewals == 1
    door.host.live.clear()  # the git host has revoked the token before its end
    assert (await door.who()).json()["login"] == "ada"
    assert door.host.renewals == 2


async def test_a_refused_renewal_asks_for_a_reconnection(door: Door) -> None:
    app_id = (await door.register())["id"]
    await door.connect()
    door.host.refreshers.clear()
    await door.grow_old()
    # The token cannot be renewed, but it is still valid, so it is used.
    assert (await door.who()).json()["login"] == "ada"
    assert (await door.credential())["needs_reconnect"] is True
    assert await door.audited() == [
        "git_app.changed", "git_app.changed", "git_host.connected", "git_token.renewal_refused",
    ]  # fmt: skip
    await door.grow_old(expired=True)
    assert_problem(await door.who(), 502, "git_reconnect_needed")
    assert len(door.host.replayed) == 1
    back = await door.begin(app_id)
    again = (await door.client.post("/api/v1/settings/git-sign-ins/finish", json=back)).json()
    assert again["needs_reconnect"] is False
    assert (await door.who()).json()["login"] == "ada"


async def test_a_host_that_is_away_ends_nothing(door: Door) -> None:
    await door.connect()
    await door.grow_old(expired=True)
    door.host.is_down = True
    assert_problem(await door.who(), 502, "git_host_failed")
    assert (await door.credential())["needs_reconnect"] is False
    door.host.is_down = False
    assert (await door.who()).json()["login"] == "ada"


async def test_while_a_token_is_valid_calls_do_not_wait_for_a_host_that_is_away(
    door: Door, owner: User
) -> None:
    await door.connect()
    token = await door.token()
    await door.grow_old()
    door.host.is_down = True
    tokens, seen = door.app.state["git_tokens"], len(door.host.requests)
    assert [await tokens.token(owner.id, door.host.origin) for _ in range(3)] == [token] * 3
    assert len(door.host.requests) == seen + 1


async def test_without_its_application_a_token_is_used_until_it_expires(door: Door) -> None:
    app_id = (await door.register())["id"]
    await door.connect()
    assert (await door.client.delete(f"{APPS}/{app_id}")).status_code == 204
    await door.grow_old()
    assert (await door.who()).json()["login"] == "ada"
    await door.grow_old(expired=True)
    assert_problem(await door.who(), 502, "git_reconnect_needed")


async def test_a_token_without_an_end_stays(door: Door, owner: User) -> None:
    door.host.life_seconds = None
    saved = await door.connect()
    assert saved["expires_at"] is None
    assert (await door.who()).json()["login"] == "ada"
    door.host.live.clear()
    assert_problem(await door.who(), 502, "git_reconnect_needed")
    assert door.host.renewals == 0
    assert (await door.client.delete(f"{CREDENTIALS}/{saved['id']}")).status_code == 204
    assert await door.app.state["git_tokens"].token(owner.id, door.host.origin) is None


async def test_a_disconnected_host_gets_no_renewed_token(door: Door, owner: User) -> None:
    saved = await door.connect()
    await door.grow_old(expired=True)
    door.host.may_renew.clear()
    call = asyncio.create_task(door.app.state["git_tokens"].token(owner.id, door.host.origin))
    await asyncio.to_thread(door.host.asked_to_renew.wait)
    assert (await door.client.delete(f"{CREDENTIALS}/{saved['id']}")).status_code == 204
    door.host.may_renew.set()
    with pytest.raises(AppError) as caught:
        await call
    assert caught.value.code == "git_reconnect_needed"
    assert (await door.client.get(CREDENTIALS)).json() == []
