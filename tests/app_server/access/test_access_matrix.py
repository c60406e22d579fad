"""Tests of who may use the routes about one conversation or its sandbox: calls each route as each kind of
person.
"""

import re
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.access.permissions import Permission, permissions_of
from app_server.conversations.sharing.access import Access
from app_server.users.models import Role, User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID
from app_server.users.service import create_api_key, create_user
from tests.app_server.access.test_permission_matrix import description
from tests.app_server.conftest import App, http_client
from tests.app_server.main.test_doors import asked, filled
from tests.app_server.sharing.test_sharing import ROOT, new_conversation

ONE = f"{ROOT}/{{conversation_id}}"
EVENTS = "/api/v1/conversation/{conversation_id}/events"
WAITING = "/api/v1/conversations/{conversation_id}/pending-messages"
SNAPSHOTS = "/api/v1/sandboxes/{conversation_id}/snapshots"
SANDBOX = "/api/v1/sandboxes/{sandbox_id}"
OTHER_ORGANISATION_ID = uuid4()


class Need(StrEnum):
    """The access to a conversation that a route requires. `HIDDEN`: only the owner may use the route; for
    all other people the route answers that the sandbox does not exist.
    """

    VIEW = "view"
    STEER = "steer"
    OWN = "own"
    HIDDEN = "hidden"


NEEDS = {
    Need.VIEW: (
        f"GET {ONE}/directory",
        f"GET {ONE}/download",
        f"GET {ONE}/file",
        f"GET {ONE}/file/download",
        f"GET {ONE}/confirmation-mode",
        f"GET {ONE}/git/changes",
        f"GET {ONE}/git/diff",
        f"GET {ONE}/git/patch",
        f"GET {ONE}/git/pushes",
        f"GET {ONE}/pull-requests",
        f"GET {ONE}/sub-conversations/{{sub_conversation_id}}/events",
        f"GET {EVENTS}",
        f"GET {EVENTS}/blobs/{{sha256}}",
        f"GET {EVENTS}/count",
        f"GET {EVENTS}/search",
        f"GET {EVENTS}/window",
        f"GET {WAITING}",
    ),
    Need.STEER: (
        f"POST {ONE}/answer-mcp-question",
        f"POST {ONE}/condense",
        f"POST {ONE}/goal",
        f"POST {ONE}/goal/resume",
        f"POST {ONE}/goal/stop",
        f"POST {ONE}/interrupt",
        f"POST {ONE}/pause",
        f"POST {ONE}/respond-to-confirmation",
        f"POST {ONE}/run",
        f"POST {ONE}/send-message",
        f"POST {WAITING}",
        f"DELETE {WAITING}/{{message_id}}",
    ),
    Need.OWN: (
        f"PATCH {ONE}",
        f"DELETE {ONE}",
        f"POST {ROOT}/start-tasks/{{task_id}}/retry",
        f"POST {ONE}/answer-mcp-change",
        f"GET {ONE}/browser",
        f"POST {ONE}/budget",
        f"GET {ONE}/checkpoints",
        f"GET {ONE}/checkpoints/{{checkpoint_id}}/diff",
        f"POST {ONE}/checkpoints/{{checkpoint_id}}/rewind",
        f"POST {ONE}/confirmation-mode",
        f"GET {ONE}/consent",
        f"POST {ONE}/consent",
        f"POST {ONE}/execute-bash-command",
        f"POST {ONE}/fork",
        f"GET {ONE}/hooks",
        f"GET {ONE}/links",
        f"POST {ONE}/links",
        f"DELETE {ONE}/links/{{link_id}}",
        f"GET {ONE}/model-key",
        f"POST {ONE}/model-key",
        f"DELETE {ONE}/model-key",
        f"GET {ONE}/network",
        f"POST {ONE}/network/answer",
        f"POST {ONE}/pull-requests",
        f"GET {ONE}/pull-requests/proposal",
        f"PATCH {ONE}/pull-requests/{{pull_request_id}}",
        f"POST {ONE}/pull-requests/{{pull_request_id}}/address-review",
        f"POST {ONE}/pull-requests/{{pull_request_id}}/fix-checks",
        f"POST {ONE}/pull-requests/{{pull_request_id}}/refresh",
        f"POST {ONE}/run-setup-script",
        f"GET {ONE}/sharing",
        f"PUT {ONE}/sharing",
        f"GET {ONE}/sharing/candidates",
        f"PUT {ONE}/sharing/people/{{person_id}}",
        f"DELETE {ONE}/sharing/people/{{person_id}}",
        f"PUT {ONE}/sharing/teams/{{team_id}}",
        f"DELETE {ONE}/sharing/teams/{{team_id}}",
        f"GET {ONE}/skills",
        f"GET {ONE}/workspace",
        f"POST {ONE}/switch_profile",
        f"POST {ONE}/switch_acp_model",
        f"GET {SNAPSHOTS}",
        f"POST {SNAPSHOTS}",
        f"DELETE {SNAPSHOTS}/{{snapshot_id}}",
    ),
    Need.HIDDEN: (
        f"DELETE {SANDBOX}",
        f"POST {SANDBOX}/archive",
        f"POST {SANDBOX}/links",
        f"POST {SANDBOX}/pause",
        f"GET {SANDBOX}/ports",
        f"POST {SANDBOX}/resume",
        f"GET {SANDBOX}/runtime-plugins",
        f"POST {SANDBOX}/runtime-plugins/{{name}}/start",
    ),
}


class By(StrEnum):
    """How a person got access to a conversation. `NO_LONGER`: the owner has taken the access away again."""

    NAME = "name"
    TEAM = "team"
    EVERYONE = "everyone"
    NO_LONGER = "no longer"


@dataclass(frozen=True)
class Guest:
    access: Access | None
    by: By | None
    role: Role = Role.MEMBER
    is_service: bool = False
    scopes: tuple[Permission, ...] | None = None
    organisation_id: UUID = DEFAULT_ORGANISATION_ID


GUESTS = {
    "an admin": Guest(None, None, Role.ADMIN),
    "a person with whom it is no longer shared": Guest(None, By.NO_LONGER),
    "a person who may view": Guest(Access.VIEW, By.NAME),
    "a member of a team that may view": Guest(Access.VIEW, By.TEAM),
    "a person who may steer": Guest(Access.STEER, By.NAME),
    "a service account in a team that may steer": Guest(Access.STEER, By.TEAM, is_service=True),
    "a viewer of the installation": Guest(Access.STEER, By.TEAM, Role.VIEWER),
    "a key to read": Guest(Access.STEER, By.NAME, scopes=(Permission.READ,)),
    "everyone, who may steer": Guest(Access.STEER, By.EVERYONE),
    "the owner of another organisation": Guest(
        None, By.EVERYONE, Role.OWNER, organisation_id=OTHER_ORGANISATION_ID
    ),
}


def routes() -> dict[str, Permission]:
    """Returns the required permission of every route about one conversation or its sandbox, by "METHOD
    path". Leaves out routes that people do not use.
    """
    named = re.compile(r"\{(conversation|task|sandbox)_id\}")
    return {
        f"{method.upper()} {path}": Permission(operation["x-permission"])
        for path, by_method in description()["paths"].items()
        for method, operation in by_method.items()
        if named.search(path) and operation["x-permission"] is not None
    }


def test_the_table_has_every_route_once() -> None:
    stated = [route for names in NEEDS.values() for route in names]
    assert sorted(stated) == sorted(routes()), "state in NEEDS what a new route asks for"


# One database kind is enough: the tests in sharing/ and teams/ run the access queries on SQLite and
# PostgreSQL.
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_each_guest_may_do_what_the_access_says_and_nothing_else(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    shared, common = await new_conversation(app, owner), await new_conversation(app, owner)
    (await client.put(f"{ROOT}/{common}/sharing", json={"everyone": "steer"})).raise_for_status()
    wrong = []
    async with AsyncExitStack() as stack:
        # All guests get their access first: the access of one guest must not change what another one may do.
        clients = {
            name: await stack.enter_async_context(await joined(app, client, shared, name, guest))
            for name, guest in GUESTS.items()
        }
        for name, guest in GUESTS.items():
            who = clients[name]
            target = common if guest.by is By.EVERYONE else shared
            [shown] = (await who.get(ROOT, params={"ids": target.hex})).json()
            seen = shown and (shown["access"], shown["owner_name"], shown["is_shared"])
            assert seen == (guest.access and (guest.access, owner.name, True)), name
            permissions = permissions_of(guest.role, guest.organisation_id, guest.scopes)
            wrong += await differences(who, target, guest.access, permissions, name)
    assert not wrong


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_the_owner_may_do_everything_that_the_key_allows(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="read", scopes=[Permission.READ])
    kept = await new_conversation(app, owner)
    everything = permissions_of(owner.role, owner.organisation_id)
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as reader:
        wrong = await differences(reader, kept, Access.OWN, {Permission.READ}, "the owner's key to read")
    for route in routes():
        target = await new_conversation(app, owner)  # some of the routes delete the conversation
        wrong += await differences(client, target, Access.OWN, everything, "the owner", [route])
    assert not wrong


async def joined(
    app: App, client: httpx.AsyncClient, conversation_id: UUID, name: str, guest: Guest
) -> httpx.AsyncClient:
    """Creates a user with this name, and shares the conversation with the user as `guest` describes. Returns
    an HTTP client with an API key of this user.

    client: the client of the conversation's owner.
    """
    async with app.database.session() as session:
        user = await create_user(session, name=name, role=guest.role, organisation_id=guest.organisation_id)
        user.is_service = guest.is_service
        scopes = None if guest.scopes is None else [*guest.scopes]
        _, key = await create_api_key(session, user, name="matrix", scopes=scopes)
    sharing = f"{ROOT}/{conversation_id}/sharing"
    access = {"access": guest.access or "steer"}
    if guest.by is By.TEAM:
        team_id = (await client.post("/api/v1/teams", json={"name": name})).json()["id"]
        (await client.put(f"/api/v1/teams/{team_id}/members/{user.id}")).raise_for_status()
        (await client.put(f"{sharing}/teams/{team_id}", json=access)).raise_for_status()
    elif guest.by in {By.NAME, By.NO_LONGER}:
        (await client.put(f"{sharing}/people/{user.id}", json=access)).raise_for_status()
    if guest.by is By.NO_LONGER:
        (await client.delete(f"{sharing}/people/{user.id}")).raise_for_status()
    return http_client(app.public, headers={"Authorization": f"Bearer {key}"})


async def differences(
    who: httpx.AsyncClient,
    conversation_id: UUID,
    access: Access | None,
    permissions: Collection[Permission],
    name: str,
    only: Collection[str] = (),
) -> list[tuple[str, str, str, str]]:
    """Calls the routes as `who`. Returns each route whose answer is not the one that the table NEEDS
    requires, as (name, route, expected answer, actual answer).

    access: the access of `who` to the conversation. None means no access.
    permissions: the permissions of the API key that `who` sends.
    name: a description of `who` for the result.
    only: the routes to call. Empty means all routes.
    """
    needs = {route: need for need, names in NEEDS.items() for route in names}
    found = []
    for route, permission in routes().items():
        if only and route not in only:
            continue
        method, _, path = route.partition(" ")
        reply = await asked(who, method, filled(path, conversation_id))
        should = expected(needs[route], access, permission in permissions)
        answer = await outcome(who, method, path, reply)
        if answer != should:
            found.append((name, route, should, f"{answer}: {reply.status_code} {reply.text[:200]}"))
    return found


def expected(need: Need, access: Access | None, is_permitted: bool) -> str:
    if not is_permitted:
        return "permission_missing"
    if access is None or (need is Need.HIDDEN and access is not Access.OWN):
        return "does not exist"
    if need is Need.HIDDEN or access.includes(Access(need)):
        return "allowed"
    return "conversation_access_missing"


async def outcome(who: httpx.AsyncClient, method: str, path: str, reply: httpx.Response) -> str:
    """Returns what the reply says about access: "allowed", "does not exist", "exists", "failed" or an error
    code. A reply that fails for another reason, for example as no sandbox runs, counts as "allowed".
    """
    if reply.status_code < 400:
        return "allowed"
    problem = reply.json()
    if reply.status_code in {401, 403}:
        return str(problem["code"])
    if reply.status_code == 404 and problem["code"] in {"not_found", "sandbox_not_found"}:
        # The reply must be the same as the reply for an unknown id.
        unknown = (await asked(who, method, filled(path, uuid4()))).json()
        same = (problem["code"], problem["detail"]) == (unknown["code"], unknown["detail"])
        return "does not exist" if same else "exists"
    return "allowed" if reply.status_code in {404, 409, 422} else "failed"
