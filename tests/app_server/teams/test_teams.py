"""Tests of teams: who changes them, who sees them, and conversations that are shared with them."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import websockets
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.users.models import Role, User
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, person, tried
from tests.app_server.sharing.test_user_stream import following, read
from tests.app_server.streams import close_code

TEAMS = "/api/v1/teams"


async def new_team(client: httpx.AsyncClient, name: str, *members: httpx.AsyncClient) -> str:
    reply = await client.post(TEAMS, json={"name": name})
    assert reply.status_code == 201, reply.text
    team_id: str = reply.json()["id"]
    for member in members:
        (await client.put(member_path(team_id, member))).raise_for_status()
    return team_id


def member_path(team_id: str, member: httpx.AsyncClient) -> str:
    return f"{TEAMS}/{team_id}/members/{member.headers['X-Test-User']}"


async def names(client: httpx.AsyncClient) -> list[tuple[str, int, bool]]:
    rows = (await client.get(TEAMS)).raise_for_status().json()
    return [(row["name"], row["member_count"], row["is_member"]) for row in rows]


@pytest.mark.both_databases
async def test_administrators_change_teams_and_members_see_their_own(
    app: App, client: httpx.AsyncClient
) -> None:
    async with person(app, "Grace") as grace, person(app, "Alan", Role.ADMIN) as admin:
        core = await new_team(client, " Core ", grace)
        other = await new_team(admin, "apps")
        assert await names(client) == [("apps", 0, False), ("Core", 1, False)]
        assert await names(grace) == [("Core", 1, True)]
        details = (await grace.get(f"{TEAMS}/{core}")).json()
        assert [(one["name"], one["provider"]) for one in details["members"]] == [("Grace", None)]

        assert_problem(await grace.get(f"{TEAMS}/{other}"), 404, "team_not_found")
        for reply in (
            await grace.post(TEAMS, json={"name": "Mine"}),
            await grace.put(member_path(other, grace)),
            await grace.delete(f"{TEAMS}/{core}"),
        ):
            assert_problem(reply, 403, "permission_missing")

        assert_problem(await client.post(TEAMS, json={"name": "CORE"}), 409, "team_name_taken")
        renamed = await client.patch(f"{TEAMS}/{other}", json={"name": "core"})
        assert_problem(renamed, 409, "team_name_taken")
        assert (await client.patch(f"{TEAMS}/{core}", json={"name": "CORE"})).json()["name"] == "CORE"
        assert_problem(await client.put(f"{TEAMS}/{core}/members/{uuid4()}"), 404, "person_not_found")
        assert_problem(await client.delete(member_path(other, grace)), 404, "team_member_not_found")

        assert (await client.delete(member_path(core, grace))).json()["members"] == []
        assert await names(grace) == []
        assert (await client.delete(f"{TEAMS}/{core}")).status_code == 204
        assert_problem(await client.get(f"{TEAMS}/{core}"), 404, "team_not_found")

    async with app.database.read() as session:
        rows = await session.scalars(
            select(AuditEntry).where(AuditEntry.target_id == core).order_by(AuditEntry.id)
        )
        found = [(row.action, row.details.get("person_name") or row.details["name"]) for row in rows]
    assert found == [
        ("team.created", "Core"),
        ("team_member.added", "Grace"),
        ("team.renamed", "CORE"),
        ("team_member.removed", "Grace"),
        ("team.deleted", "CORE"),
    ]


async def test_a_conversation_is_shared_with_the_members_of_a_team(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    conversation_id = await new_conversation(app, owner)
    sharing = f"{ROOT}/{conversation_id}/sharing"

    async def seen(who: httpx.AsyncClient) -> str | None:
        """Returns the person's access to the conversation, or None. Checks that the list, the count and the
        single conversation agree.
        """
        page = (await who.get(f"{ROOT}/search", params={"shared": "true"})).json()["items"]
        assert (await who.get(f"{ROOT}/count", params={"shared": "true"})).json() == len(page)
        [shown] = (await who.get(ROOT, params={"ids": conversation_id.hex})).json()
        assert page == ([shown] if shown else [])
        return shown and str(shown["access"])

    async with person(app, "Grace") as grace, person(app, "Ida") as outsider:
        viewing, steering = await new_team(client, "Readers", grace), await new_team(client, "Core")
        for team_id, access in ((viewing, "view"), (steering, "steer")):
            shared = await client.put(f"{sharing}/teams/{team_id}", json={"access": access})
        assert [(one["name"], one["access"], one["member_count"]) for one in shared.json()["teams"]] == [
            ("Core", "steer", 0),
            ("Readers", "view", 1),
        ]
        assert await seen(grace) == "view"
        assert_problem(
            await tried(grace, "POST", "{root}/run", conversation_id), 403, "conversation_access_missing"
        )
        await client.put(member_path(steering, grace))
        assert await seen(grace) == "steer"
        assert (await tried(grace, "POST", "{root}/run", conversation_id)).status_code == 409
        assert_problem(await grace.get(sharing), 403, "conversation_access_missing")

        assert await seen(outsider) is None
        for method, path in (("GET", "{events}/search"), ("POST", "{root}/run"), ("GET", "{root}/sharing")):
            assert_problem(await tried(outsider, method, path, conversation_id), 404, "not_found")

        await client.delete(f"{TEAMS}/{steering}")
        assert await seen(grace) == "view"
        left = (await client.delete(f"{sharing}/teams/{viewing}")).json()
        assert left == {"everyone": None, "people": [], "teams": []}
        assert await seen(grace) is None
        assert_problem(await client.delete(f"{sharing}/teams/{viewing}"), 404, "share_not_found")
        [own] = (await client.get(ROOT, params={"ids": conversation_id.hex})).json()
        assert own["is_shared"] is False


async def test_people_share_with_their_own_teams_only(app: App, client: httpx.AsyncClient) -> None:
    await app.state["start_worker"].close()
    async with person(app, "Grace") as grace:
        mine, other = await new_team(client, "Core one", grace), await new_team(client, "Core two")
        user = User(id=UUID(grace.headers["X-Test-User"]))
        sharing = f"{ROOT}/{await new_conversation(app, user)}/sharing"
        found = (await grace.get(f"{sharing}/candidates", params={"query": "cOR"})).json()
        assert [(one["team_id"], one["name"]) for one in found] == [(mine, "Core one")]
        refused = await grace.put(f"{sharing}/teams/{other}", json={"access": "view"})
        assert_problem(refused, 404, "team_not_found")
        assert (await grace.put(f"{sharing}/teams/{mine}", json={"access": "view"})).status_code == 200


async def test_a_stream_ends_when_its_person_leaves_the_team(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    conversation_id = await new_conversation(app, owner)
    async with (
        person(app, "Grace") as leaving,
        person(app, "Alan") as staying,
        listening(app.public) as url,
    ):
        team_id = await new_team(client, "Core", leaving, staying)
        sharing = f"{ROOT}/{conversation_id}/sharing/teams/{team_id}"
        (await client.put(sharing, json={"access": "view"})).raise_for_status()
        stream = f"{url.replace('http', 'ws')}/api/v1/conversation/{conversation_id}/events/stream"

        def watch(who: httpx.AsyncClient) -> Any:
            headers = {"Authorization": who.headers["Authorization"]}
            return websockets.connect(stream, additional_headers=headers)

        async with watch(leaving) as ended, watch(staying) as kept:
            for socket in (ended, kept):
                assert json.loads(await socket.recv())["type"] == "sync"
            (await client.delete(member_path(team_id, leaving))).raise_for_status()
            async with asyncio.timeout(2):
                assert await close_code(ended) == 4004
            assert kept.close_code is None


@pytest.mark.both_databases
async def test_lists_follow_who_is_in_a_team_and_what_is_shared_with_it(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    first, second = await new_conversation(app, owner), await new_conversation(app, owner)
    async with (
        person(app, "Grace") as grace,
        listening(app.public) as url,
        following(url, grace) as (socket, snapshot),
    ):
        assert snapshot["conversations"] == []
        team_id = await new_team(client, "Core")

        async def share(conversation_id: UUID, **access: str) -> None:
            path = f"{ROOT}/{conversation_id}/sharing/teams/{team_id}"
            (await client.request("PUT" if access else "DELETE", path, json=access)).raise_for_status()

        async def changed(type_: str) -> str:
            frame = await read(socket, type_)
            return str(frame.get("conversation_id") or frame["conversation"]["id"])

        await share(first, access="view")
        await client.patch(f"{ROOT}/{second}", json={"title": "Of the owner alone"})
        await client.put(member_path(team_id, grace))
        frame = json.loads(await socket.recv())
        assert frame["conversation"]["id"] == first.hex, "nothing came before the person joined"
        assert [one["id"] for one in (await read(socket, "snapshot"))["conversations"]] == [first.hex]

        await share(second, access="steer")
        assert (await read(socket, "conversation"))["conversation"]["access"] == "steer"
        await client.patch(f"{ROOT}/{first}", json={"title": "Of the team"})
        assert (await read(socket, "conversation"))["conversation"]["title"] == "Of the team"
        await share(second)
        assert await changed("removed") == second.hex

        (await client.delete(member_path(team_id, grace))).raise_for_status()
        assert await changed("removed") == first.hex
        assert (await read(socket, "snapshot"))["conversations"] == []
        await client.patch(f"{ROOT}/{first}", json={"title": "Of the others"})
        await client.put(member_path(team_id, grace))
        frame = await read(socket, "conversation")
        assert frame["conversation"]["title"] == "Of the others"
        await read(socket, "snapshot")
        await client.delete(f"{TEAMS}/{team_id}")
        assert await changed("removed") == first.hex


async def test_a_service_account_in_a_team_reads_what_is_shared_with_it(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    conversation_id = await new_conversation(app, owner)
    accounts = "/api/v1/people/service-accounts"
    bot = (await client.post(accounts, json={"name": "Core bot", "role": "member"})).json()["id"]
    key = (await client.post(f"{accounts}/{bot}/keys", json={"name": "ci"})).json()["key"]
    team_id = await new_team(client, "Core")
    sharing = f"{ROOT}/{conversation_id}/sharing"
    (await client.put(f"{sharing}/teams/{team_id}", json={"access": "view"})).raise_for_status()
    found = (await client.get(f"{sharing}/candidates", params={"query": "core"})).json()
    assert [(one["name"], one["team_id"], one["user_id"], one["is_service"]) for one in found] == [
        ("Core", team_id, None, False),
        ("Core bot", None, bot, True),
    ]
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as program:
        assert (await program.get(f"{ROOT}/count")).json() == 0
        joined = (await client.put(f"{TEAMS}/{team_id}/members/{bot}")).json()
        assert [(one["name"], one["is_service"]) for one in joined["members"]] == [("Core bot", True)]
        [shown] = (await program.get(f"{ROOT}/search")).json()["items"]
        assert (shown["id"], shown["access"]) == (conversation_id.hex, "view")
