"""Tests of secrets and MCP servers of the organisation and of teams: which members get them, which one is
used if several have the same name, and which values are hidden.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.conversations.sharing.own_secrets import own_secrets
from app_server.levels.models import LevelSetting
from app_server.mcp_servers.brokered_variables import definitions_for_sandboxes
from app_server.sandbox_records.models import SandboxStatus
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import person
from tests.app_server.teams.test_teams import member_path, new_team
from tests.support.mcp_processes import http_server

ITEMS = "/api/v1/administration/items"
GIVEN = "/api/v1/settings/levels/items"
CANARY = "canary-value-of-all"


@dataclass(frozen=True)
class Member:
    """A member with a running sandbox. `client`: an HTTP client of the public app with the member's key.
    `inner`: an HTTP client of the inner app, to which this class adds the sandbox's key. `id`: the id of
    the member and of the sandbox.
    """

    client: httpx.AsyncClient
    inner: httpx.AsyncClient
    id: UUID

    async def value_of(self, name: str) -> str | None:
        reply = await self.inner.get(f"{self._secrets}/{name}", headers=self._key)
        return reply.text if reply.status_code == 200 else None

    async def secret_names(self) -> list[str]:
        listed = await self.inner.get(self._secrets, headers=self._key)
        return [each["name"] for each in listed.json()["secrets"]]

    async def call(self, server: str) -> httpx.Response:
        return await self.inner.post(f"/mcp/{server}", headers=self._key)

    @property
    def _secrets(self) -> str:
        return f"/api/v1/sandboxes/{self.id.hex}/settings/secrets"

    @property
    def _key(self) -> dict[str, str]:
        return {"X-Session-API-Key": self.id.hex}


@pytest.fixture
async def ada(app: App, inner: httpx.AsyncClient) -> AsyncIterator[Member]:
    """Yields a member, Ada, with a running sandbox. The sandbox has the same id as Ada."""
    await app.state["start_worker"].close()
    async with person(app, "Ada") as client:
        user_id = UUID(client.headers["X-Test-User"])
        async with app.database.session() as session:
            sandbox = await app.state["sandboxes"].create(session, sandbox_id=user_id, user_id=user_id)
            sandbox.session_key_hash, sandbox.status = token_hash(user_id.hex), SandboxStatus.RUNNING
        yield Member(client, inner, user_id)


@pytest.fixture(scope="module")
def echo_url() -> Iterator[str]:
    with http_server("tests.support.mcp_echo_server") as url:
        yield url


async def put(client: httpx.AsyncClient, path: str, **body: Any) -> Any:
    reply = await client.put(f"{ITEMS}/{path}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def given(member: Member) -> list[tuple[str, str, str, str | None]]:
    """Returns the secrets and MCP servers that the member gets: kind, name, level (organisation or team),
    and the level that overrides it (None if no level does).
    """
    rows = (await member.client.get(GIVEN)).raise_for_status().json()
    return [(row["kind"], row["name"], row["level"], row["overridden_by"]) for row in rows]


@pytest.mark.both_databases
async def test_a_secret_of_all_reaches_every_member_and_its_value_is_never_shown(
    app: App, client: httpx.AsyncClient, ada: Member
) -> None:
    shown = await put(client, "secret/TOKEN", value=CANARY, description="For staging")
    assert (shown["level"], shown["description"], shown["mcp_server"]) == (
        "organisation",
        "For staging",
        None,
    )
    assert await ada.secret_names() == ["TOKEN"]
    assert await ada.value_of("TOKEN") == CANARY
    await put(client, "secret/TOKEN", description="For production")
    assert await ada.value_of("TOKEN") == CANARY, "without a new value the stored one stays"
    listed = await ada.client.get(GIVEN)
    assert listed.json()[0]["description"] == "For production"
    assert_problem(await client.put(f"{ITEMS}/secret/NEW", json={}), 400, "secret_value_needed")
    assert_problem(await ada.client.get(ITEMS), 403, "permission_missing")
    async with app.database.read() as session:
        row = await session.scalar(select(LevelSetting).where(LevelSetting.name == "secret:TOKEN"))
        told = [(entry.action, entry.details) for entry in await session.scalars(select(AuditEntry))]
        scanned = await own_secrets(session, app.state["cipher"], ada.id)
    assert row is not None
    assert CANARY not in f"{row.value}{row.sealed_encrypted}"
    assert scanned == {"Secret TOKEN of your organisation": CANARY}
    assert CANARY not in listed.text + (await client.get(ITEMS)).text + str(told)
    assert [action for action, _ in told if action.startswith("secret.")] == [
        "secret.created",
        "secret.used",
        "secret.changed",
    ]
    assert (await client.delete(f"{ITEMS}/secret/TOKEN")).status_code == 204
    assert_problem(await client.delete(f"{ITEMS}/secret/TOKEN"), 404, "item_not_set")
    assert await ada.value_of("TOKEN") is None


@pytest.mark.both_databases
async def test_a_person_overrides_a_team_which_overrides_the_organisation_unless_it_is_enforced(
    client: httpx.AsyncClient, ada: Member
) -> None:
    team = await new_team(client, "Core", ada.client)
    await put(client, "secret/TOKEN", value="of-all")
    await put(client, f"secret/TOKEN?team_id={team}", value="of-team")
    assert await ada.value_of("TOKEN") == "of-team"
    own = {"name": "TOKEN", "value": "of-ada"}
    assert (await ada.client.post("/api/v1/secrets", json=own)).status_code == 201
    assert await ada.value_of("TOKEN") == "of-ada"
    assert await given(ada) == [
        ("secret", "TOKEN", "team", "user"),
        ("secret", "TOKEN", "organisation", "user"),
    ]
    of_all, of_team = (await client.get(ITEMS)).json()
    assert (of_all["overriding_teams"], of_all["overriding_people"]) == (["Core"], 1)
    assert (of_team["overriding_teams"], of_team["overriding_people"]) == ([], 1)

    await put(client, "secret/TOKEN", enforced=True)
    assert await ada.value_of("TOKEN") == "of-all"
    assert await given(ada) == [
        ("secret", "TOKEN", "organisation", None),
        ("secret", "TOKEN", "team", "organisation"),
    ]
    refused = await ada.client.post("/api/v1/secrets", json=own)
    assert_problem(refused, 403, "setting_enforced")
    assert (refused.json()["set_by"], refused.json()["setting"]) == ("organisation", "TOKEN")
    await ada.client.post("/api/v1/secrets", json={"name": "OTHER", "value": "of-ada"})
    renamed = await ada.client.put("/api/v1/secrets/OTHER", json={"name": "TOKEN"})
    assert_problem(renamed, 403, "setting_enforced")
    await client.delete(f"{ITEMS}/secret/TOKEN")
    assert await ada.value_of("TOKEN") == "of-ada", "what the person had added is still there"
    await ada.client.delete("/api/v1/secrets/TOKEN")
    assert await ada.value_of("TOKEN") == "of-team"
    await client.delete(member_path(team, ada.client))
    assert await ada.value_of("TOKEN") is None, "the person has left the team"


async def test_an_mcp_server_of_all_is_called_with_its_headers_by_every_member(
    app: App, client: httpx.AsyncClient, ada: Member, echo_url: str
) -> None:
    headers = {"X-Api-Key": f"{CANARY}-header", "X-Team": "harbour"}
    shown = await put(client, "mcp_server/echo", url=echo_url, headers=headers, description="Repeats")
    assert shown["mcp_server"]["headers"] == dict.fromkeys(headers, "**********")
    # An administrator has saved this private address, so agents of members may call it.
    seen = (await ada.call("echo")).raise_for_status().json()
    assert (seen["headers"]["x-team"], seen["headers"]["x-api-key"]) == ("harbour", "[hidden]")
    async with app.database.read() as session:
        assert "echo" in await definitions_for_sandboxes(session, app.state["cipher"], ada.id)
        scanned = await own_secrets(session, app.state["cipher"], ada.id)
    assert f"{CANARY}-header" in scanned.values()
    assert await given(ada) == [("mcp_server", "echo", "organisation", None)]
    assert echo_url not in (await ada.client.get(GIVEN)).text

    kept = {"url": echo_url, "headers": dict.fromkeys(headers, "**********")}
    elsewhere = await client.put(f"{ITEMS}/mcp_server/echo", json={**kept, "url": f"{echo_url}?other"})
    assert_problem(elsewhere, 409, "mcp_headers_needed")
    await put(client, "mcp_server/echo", **kept, enabled=False)
    assert_problem(await ada.call("echo"), 404, "mcp_server_off")
    await put(client, "mcp_server/echo", **kept)
    assert (await ada.call("echo")).json()["headers"]["x-team"] == "harbour"
    signed_in = {"url": echo_url, "auth": {"strategy": "oauth2"}}
    refused = await client.put(f"{ITEMS}/mcp_server/echo", json=signed_in)
    assert_problem(refused, 400, "mcp_sign_in_is_personal")


async def test_an_own_mcp_server_holds_instead_unless_the_name_is_enforced(
    client: httpx.AsyncClient, ada: Member, echo_url: str
) -> None:
    own = {"url": "https://mcp.example.org", "enabled": False}
    assert (await ada.client.post("/api/v1/settings/mcp/echo", json=own)).status_code == 201
    await put(client, "mcp_server/echo", url=echo_url)
    assert_problem(await ada.call("echo"), 404, "mcp_server_off")
    await put(client, "mcp_server/echo", url=echo_url, enforced=True)
    assert (await ada.call("echo")).status_code == 200
    assert_problem(
        await ada.client.patch("/api/v1/settings/mcp/echo", json={"enabled": True}), 403, "setting_enforced"
    )
    assert_problem(await ada.client.post("/api/v1/settings/mcp/echo", json=own), 403, "setting_enforced")
    (await ada.client.delete("/api/v1/settings/mcp/echo")).raise_for_status()


async def test_a_foreign_team_is_not_found(client: httpx.AsyncClient) -> None:
    reply = await client.put(f"{ITEMS}/secret/TOKEN?team_id={uuid4()}", json={"value": CANARY})
    assert_problem(reply, 404, "team_not_found")
