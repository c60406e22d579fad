"""Tests of repositories that belong to teams: who changes the list, which team's settings are used, and who
may see and start conversations.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.repositories.submodules import KeptSubmodule
from app_server.conversations.sharing.owning_team import refuse_submodules_of_other_teams
from app_server.sandbox_records.models import SandboxStatus
from app_server.teams.repositories.names import key_of, key_of_entry, keys_that_cover
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, person
from tests.app_server.teams.test_teams import TEAMS, member_path, new_team

ADMINISTRATION = "/api/v1/administration/settings"
OWNER = "/api/v1/repository-owner"
PAYMENTS = "github.com/acme/payments-*"


@pytest.fixture
async def ada(app: App, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Yields the HTTP client of a member, Ada. She and the owner have a model profile. The start worker is
    stopped, so starts do not run.
    """
    await app.state["start_worker"].close()
    async with person(app, "Ada") as ada:
        for each in (client, ada):
            llm = {"model": "openai/gpt-5", "api_key": "of-mine"}
            (await each.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
        yield ada


async def own(client: httpx.AsyncClient, team: str, *names: str, **rules: Any) -> httpx.Response:
    body = {"repositories": list(names), **rules}
    return await client.put(f"{TEAMS}/{team}/repositories", json=body)


async def start(client: httpx.AsyncClient, repository: str | None, **fields: Any) -> httpx.Response:
    return await client.post(ROOT, json={"selected_repository": repository, **fields})


async def started(client: httpx.AsyncClient, repository: str | None, **fields: Any) -> UUID:
    reply = await start(client, repository, **fields)
    assert reply.status_code < 300, reply.text
    return UUID(reply.json()["app_conversation_id"] or reply.json()["id"])


async def run_sandbox(app: App, conversation_id: UUID) -> str:
    """Stores a sandbox for the conversation as if the sandbox were running. Returns its session key."""
    key = f"key-of-{conversation_id.hex}"
    async with app.database.session() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        sandbox = await app.state["sandboxes"].create(
            session, sandbox_id=conversation.sandbox_id, user_id=conversation.user_id
        )
        sandbox.session_key_hash, sandbox.status = token_hash(key), SandboxStatus.RUNNING
    return key


def test_addresses_of_one_repository_have_one_key_and_the_narrowest_entry_comes_first() -> None:
    for identity in (
        "github.com/acme/shop",
        "GitHub.com/Acme/Shop",
        "www.github.com:443/acme//shop.git",
        "ssh.github.com:443/acme/x/../shop",
        "github.com./acme/%73hop",
        "github\u3002com/acme/shop",
        "\uff47ithub.com/acme/shop",
        "github%2ecom/acme/shop",
    ):
        assert key_of(identity) == "github.com/acme/shop"
    assert key_of("ssh.dev.azure.com/v3/acme/web/shop") == key_of("dev.azure.com/acme/web/_git/shop")
    assert key_of("/srv/git/shop") is None

    covering = keys_that_cover("github.com/acme/shop")
    assert covering[:2] == ["github.com/acme/shop", "github.com/acme/shop*"]
    assert "github.com/acme/s*" in covering
    assert key_of_entry(" GitHub.com/acme/ ".strip() + "*") == "github.com/acme/*"
    assert key_of_entry(PAYMENTS) == PAYMENTS


@pytest.mark.both_databases
async def test_administrators_and_maintainers_change_the_list(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    core, other = await new_team(client, "Core", ada), await new_team(client, "Other")
    assert_problem(await own(ada, core, PAYMENTS), 403, "not_maintainer")
    assert_problem(await ada.get(f"{TEAMS}/{other}/repositories"), 404, "team_not_found")
    maintains = member_path(core, ada).replace("members", "maintainers")
    assert_problem(await ada.put(maintains), 403, "permission_missing")
    assert_problem(await client.put(maintains.replace(core, other)), 404, "team_member_not_found")
    (member,) = (await client.put(maintains)).json()["members"]
    assert member["is_maintainer"]

    saved = (await own(ada, core, PAYMENTS, "GitHub.com/acme/Shop", members_see="view")).json()
    assert saved == {
        "repositories": [PAYMENTS, "GitHub.com/acme/Shop"],
        "members_see": "view",
        "members_only": False,
        "may_change": True,
        "may_restrict": False,
    }
    assert_problem(await own(ada, core, members_only=True), 403, "members_only_not_allowed")
    for wrong in (
        "*",
        "github.com/*",
        "github.com/acme",
        "github.com/a*b/c",
        "https://github.com/acme/shop",
        "/srv/x",
    ):
        assert_problem(await own(ada, core, wrong), 400, "repository_name_wrong")
    taken = await own(client, other, "github.com/acme/search", "github.com/ACME/shop")
    assert_problem(taken, 409, "repository_taken")
    assert "GitHub.com/acme/Shop belongs to the team 'Core'" in taken.json()["detail"]
    assert (await client.get(f"{TEAMS}/{other}/repositories")).json()["repositories"] == []

    await client.delete(member_path(core, ada))
    await client.put(member_path(core, ada))
    assert_problem(await own(ada, core), 403, "not_maintainer")
    assert (await own(client, core)).json()["repositories"] == []

    async with app.database.read() as session:
        rows = await session.scalars(
            select(AuditEntry).where(AuditEntry.target_id == core).order_by(AuditEntry.id)
        )
        found = [(row.action, row.details) for row in rows]
    changes = [details for action, details in found if action == "team.repositories_changed"]
    assert [(one["added"], one["removed"]) for one in changes] == [
        ([PAYMENTS, "github.com/acme/shop"], []),
        ([], [PAYMENTS, "github.com/acme/shop"]),
    ]
    assert "team_maintainer.added" in [action for action, _ in found]


@pytest.mark.both_databases
async def test_two_first_lists_of_a_team_at_once_are_both_saved(client: httpx.AsyncClient) -> None:
    core = await new_team(client, "Core")
    names = [f"github.com/acme/{name}" for name in ("shop", "lamp", "pier", "harbour")]
    replies = await asyncio.gather(*(own(client, core, name) for name in names))
    assert [reply.status_code for reply in replies] == [200] * len(names)
    [left] = (await client.get(f"{TEAMS}/{core}/repositories")).json()["repositories"]
    assert left in names


@pytest.mark.both_databases
async def test_a_conversation_on_a_repository_of_a_team_is_shared_with_its_members(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    async with person(app, "Grace") as grace:
        core = await new_team(client, "Core", ada, grace)
        wide = await new_team(client, "Wide", ada)
        await own(client, wide, "github.com/acme/*", members_see="steer")
        before = await started(ada, "acme/payments-api")
        await own(client, core, PAYMENTS, members_see="view")
        assert (await ada.get(OWNER, params={"repository": "acme/payments-api"})).json() == {
            "team_id": core,
            "team_name": "Core",
            "is_member": True,
            "members_see": "view",
            "members_only": False,
            "llm_profile": None,
        }
        shared = await started(ada, "https://github.com/Acme/Payments-API.git")
        await run_sandbox(app, shared)
        child = await started(ada, None, parent_conversation_id=shared.hex)
        for hidden in (before, await started(ada, None)):
            assert (await grace.get(f"{ROOT}/{hidden}/sharing")).status_code == 404
        for seen in (shared, child):
            (team,) = (await ada.get(f"{ROOT}/{seen}/sharing")).json()["teams"]
            assert (team["name"], team["access"]) == ("Core", "view")
            assert_problem(await grace.get(f"{ROOT}/{seen}/sharing"), 403, "conversation_access_missing")
        # An administrator who is in no team starts a conversation: it is not shared with the team.
        of_owner = await started(client, "acme/payments-api")
        assert (await client.get(f"{ROOT}/{of_owner}/sharing")).json()["teams"] == []
    async with app.database.read() as session:
        entry = await session.scalar(
            select(AuditEntry).where(
                AuditEntry.target_id == shared.hex, AuditEntry.action == "conversation.shared"
            )
        )
    assert entry is not None
    assert (entry.details["team_name"], entry.details["of_repository"]) == ("Core", True)


async def test_only_members_start_conversations_on_repositories_that_are_for_members_only(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    core = await new_team(client, "Core")
    await own(client, core, PAYMENTS, members_only=True, members_see="view")
    other = await new_team(client, "Other", ada)
    await own(client, other, "github.com/acme/shop", members_see="view")
    more = [{"repository": "acme/payments-api"}]
    for starter, repository, fields in (
        (ada, "acme/payments-api", {}),
        (client, "git@github.com:acme/payments-api.git", {}),
        (ada, "acme/shop", {"more_repositories": more}),
    ):
        refused = await start(starter, repository, **fields)
        assert_problem(refused, 403, "repository_of_team")
        assert refused.json()["detail"] == (
            "github.com/acme/payments-api belongs to the team 'Core'. Only its members may start "
            "conversations on it."
        )
        assert "add you to the team 'Core'" in refused.json()["fix"]
    shown = (await ada.get(OWNER, params={"repository": "acme/payments-api"})).json()
    assert (shown["team_name"], shown["is_member"]) == ("Core", False)

    shop = await started(ada, "acme/shop")
    # A sub-conversation uses the repository of its parent. This repository may have been given to a team
    # after the parent's start.
    parent = await started(ada, "acme/free")
    await own(client, core, PAYMENTS, "github.com/acme/free", members_only=True, members_see="view")
    child = await start(ada, None, parent_conversation_id=parent.hex)
    assert_problem(child, 403, "repository_of_team")
    await own(client, core, PAYMENTS, members_only=True, members_see="view")
    renamed = {"selected_repository": "acme/payments-api"}
    assert_problem(await ada.patch(f"{ROOT}/{shop}", json=renamed), 403, "repository_of_team")
    async with app.database.session() as session:
        (await session.get_one(StartTask, shop)).status = StartStatus.ERROR
    retry = f"{ROOT}/start-tasks/{shop}/retry"
    assert_problem(await ada.post(retry, json=renamed), 403, "repository_of_team")
    assert (await ada.post(retry, json={"selected_repository": "acme/free"})).status_code < 300
    assert (await ada.get(f"{ROOT}/{shop}/sharing")).json()["teams"] == []

    await client.put(member_path(core, ada))
    both = await started(ada, "acme/shop", more_repositories=more)
    # The conversation also uses a repository of the team Core, so it is not shared with the team Other.
    assert (await ada.get(f"{ROOT}/{both}/sharing")).json()["teams"] == []
    later = await started(ada, "acme/shop")
    assert [team["name"] for team in (await ada.get(f"{ROOT}/{later}/sharing")).json()["teams"]] == ["Other"]
    (await ada.patch(f"{ROOT}/{later}", json=renamed)).raise_for_status()
    assert (await ada.get(f"{ROOT}/{later}/sharing")).json()["teams"] == []


async def test_who_leaves_the_team_cannot_retry_a_start_that_has_failed(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    core = await new_team(client, "Core", ada)
    await own(client, core, PAYMENTS, members_only=True)
    failed = await started(ada, "acme/shop", more_repositories=[{"repository": "acme/payments-api"}])
    async with app.database.session() as session:
        (await session.get_one(StartTask, failed)).status = StartStatus.ERROR
    await client.delete(member_path(core, ada))
    for change in (None, {"selected_branch": "main"}):
        retried = await ada.post(f"{ROOT}/start-tasks/{failed}/retry", json=change)
        assert_problem(retried, 403, "repository_of_team")


@pytest.mark.both_databases
async def test_submodules_that_another_team_keeps_for_its_members_are_not_fetched(
    app: App, client: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    core, other = await new_team(client, "Core"), await new_team(client, "Other", ada)
    await own(client, core, PAYMENTS, members_only=True)
    await own(client, other, "github.com/acme/shop", members_see="view")
    shop, free = await started(ada, "acme/shop"), await started(ada, "acme/free")

    async def reasons(conversation_id: UUID) -> list[str | None]:
        found = [
            KeptSubmodule(directory="/work/shop", path=name, repository=f"https://github.com/acme/{name}")
            for name in ("payments-api", "lamp")
        ]
        async with app.database.read() as session:
            await refuse_submodules_of_other_teams(
                session, await session.get_one(Conversation, conversation_id), found
            )
        return [one.reason for one in found]

    refused = ["it is only for members of the team 'Core'", None]
    assert [await reasons(shop), await reasons(free)] == [refused, refused]
    await client.put(member_path(core, ada))
    # The first conversation is shared with the team Other, so the repository of Core stays refused in it.
    assert [await reasons(shop), await reasons(free)] == [refused, [None, None]]


@pytest.mark.both_databases
async def test_the_level_of_the_team_that_owns_the_repository_comes_before_other_teams(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    first, owning = await new_team(client, "Alpha", ada), await new_team(client, "Zeta", ada)
    await own(client, owning, PAYMENTS)
    for team, dollars in ((first, 1.0), (owning, 2.0)):
        value = {"value": dollars, "enforced": True}
        path = f"{ADMINISTRATION}/teams/{team}/max_budget_per_task"
        (await client.put(path, json=value)).raise_for_status()
        secret = {"value": f"of-{dollars}"}
        path = f"/api/v1/administration/items/secret/TOKEN?team_id={team}"
        (await client.put(path, json=secret)).raise_for_status()

    async def given(conversation_id: UUID) -> str:
        """Stores a running sandbox for the conversation. Returns the value of the secret TOKEN for commands
        in it.
        """
        key = await run_sandbox(app, conversation_id)
        path = f"/api/v1/sandboxes/{conversation_id}/settings/secrets/TOKEN"
        return (await inner.get(path, headers={"X-Session-API-Key": key})).raise_for_status().text

    assert_problem(await start(ada, "acme/shop", max_budget_per_task=1.5), 403, "setting_enforced")
    assert await given(await started(ada, "acme/shop")) == "of-1.0"
    owned = await started(ada, "acme/payments-api", max_budget_per_task=1.5)
    assert await given(owned) == "of-2.0"
    # A sandbox uses the settings of one team, so a conversation with another team's settings cannot join it.
    joining = await start(ada, "acme/shop", sandbox_id=owned.hex)
    assert_problem(joining, 409, "sandbox_policy_differs")
    # An enforced setting of the organisation has precedence over each team's setting.
    value = {"value": 1.0, "enforced": True}
    (await client.put(f"{ADMINISTRATION}/organisation/max_budget_per_task", json=value)).raise_for_status()
    refused = await start(ada, "acme/payments-api", max_budget_per_task=1.5)
    assert_problem(refused, 403, "setting_enforced")
