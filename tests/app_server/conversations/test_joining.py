"""Tests of the choice of a sandbox for a new conversation: when it joins an existing one, and why it may not
join.
"""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select, update

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.egress.models import CredentialKind, CredentialScope, EgressCredential
from app_server.git.address import parse_address
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_user
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem

ROOT = "/api/v1/app-conversations"
GROUPING = "/api/v1/settings/sandbox-grouping"
NETWORK = "/api/v1/settings/network"
SHOP, HARBOUR = "https://github.com/acme/shop", "https://github.com/acme/harbour"


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"sandbox_max_conversations": 3})


class Sandboxes:
    """Stores sandboxes and their conversations in the database, without machines. The app server decides
    from the stored rows whether a conversation may join a sandbox.
    """

    def __init__(self, app: App, owner: User) -> None:
        self._app, self._owner = app, owner

    async def make(
        self,
        conversations: int = 1,
        status: SandboxStatus = SandboxStatus.RUNNING,
        *,
        user: User | None = None,
        repository: str | None = SHOP,
        is_shared: bool = True,
        spec_id: str = "process",
        base_image: str | None = None,
    ) -> str:
        sandbox_id, user_id = uuid4(), (user or self._owner).id
        async with self._app.database.session() as session:
            for number in range(conversations):
                ids = {"id": sandbox_id if number == 0 else uuid4(), "user_id": user_id}
                session.add(
                    Conversation(
                        **ids,
                        sandbox_id=sandbox_id,
                        folder=ids["id"].hex if is_shared else None,
                        selected_repository=repository,
                        llm_profile="demo",
                        last_seq=0,
                    )
                )
                task = StartTask(**ids, sandbox_id=sandbox_id, status=StartStatus.READY, request={})
                task.stages = new_stages()
                session.add(task)
            row = await self._app.state["sandboxes"].create(session, sandbox_id=sandbox_id, user_id=user_id)
            row.status, row.spec_id, row.base_image = status, spec_id, base_image
        return sandbox_id.hex

    async def change(self, sandbox_id: str, **values: Any) -> None:
        async with self._app.database.session() as session:
            of_it = Conversation.sandbox_id == UUID(sandbox_id)
            await session.execute(update(Conversation).where(of_it).values(**values))


@pytest.fixture
async def made(app: App, owner: User) -> Sandboxes:
    await app.state["start_worker"].close()
    return Sandboxes(app, owner)


async def choose(client: httpx.AsyncClient, strategy: str) -> None:
    reply = await client.put(GROUPING, json={"sandbox_grouping_strategy": strategy})
    assert reply.json() == {"sandbox_grouping_strategy": strategy, "max_conversations_per_sandbox": 3}
    assert (await client.get(GROUPING)).json() == reply.json()


async def start(client: httpx.AsyncClient, **request: Any) -> dict[str, Any]:
    reply = await client.post(ROOT, json={"selected_repository": SHOP, **request})
    assert reply.status_code == 200, reply.text
    task: dict[str, Any] = reply.json()
    return task


async def test_by_default_each_conversation_has_a_separate_sandbox(
    client: httpx.AsyncClient, made: Sandboxes
) -> None:
    await made.make()

    task = await start(client)

    assert task["sandbox_id"] == task["id"]
    shown = (await client.get(GROUPING)).json()
    assert shown["sandbox_grouping_strategy"] == "NO_GROUPING"


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("GROUP_BY_NEWEST", "newest"),
        ("LEAST_RECENTLY_USED", "quiet"),
        ("FEWEST_CONVERSATIONS", "small"),
        ("ADD_TO_ANY", "quiet"),
        ("NO_GROUPING", None),
    ],
)
async def test_the_strategy_finds_one(
    client: httpx.AsyncClient, made: Sandboxes, strategy: str, expected: str | None
) -> None:
    found = {"asleep": await made.make(1, SandboxStatus.PAUSED), "full": await made.make(3)}
    found |= {"quiet": await made.make(2), "small": await made.make(1), "newest": await made.make(2)}
    for name in ("small", "newest", "asleep", "full"):
        await made.change(found[name], title="Something happened here")
    await choose(client, strategy)

    task = await start(client)

    assert task["sandbox_id"] == (found[expected] if expected else task["id"])


async def test_a_sleeping_sandbox_is_joined_if_none_runs(client: httpx.AsyncClient, made: Sandboxes) -> None:
    asleep = await made.make(1, SandboxStatus.PAUSED)
    await choose(client, "ADD_TO_ANY")

    assert (await start(client))["sandbox_id"] == asleep


async def test_a_conversation_gets_a_separate_sandbox_if_none_fits(
    app: App, client: httpx.AsyncClient, made: Sandboxes
) -> None:
    async with app.database.session() as session:
        stranger = await create_user(session, name="Somebody", role=Role.MEMBER)
    for sandbox in (
        {"status": SandboxStatus.ARCHIVED},
        {"status": SandboxStatus.ERROR},
        {"user": stranger},
        {"conversations": 3},
        {"spec_id": "slipway-sandbox:1"},
        {"base_image": "python:3.12"},
        {"repository": None, "is_shared": False},
    ):
        await made.make(**sandbox)
    await choose(client, "ADD_TO_ANY")

    task = await start(client)

    assert task["sandbox_id"] == task["id"]
    async with app.database.read() as session:
        begun = await session.get_one(Conversation, UUID(task["id"]))
    assert begun.folder == begun.id.hex, "others can join it"


@pytest.mark.parametrize(
    ("sandbox", "status", "code"),
    [
        ({"status": SandboxStatus.ARCHIVED}, 409, "sandbox_archived"),
        ({"status": SandboxStatus.ERROR}, 409, "sandbox_failed"),
        ({"conversations": 3}, 409, "sandbox_full"),
        ({"spec_id": "slipway-sandbox:1"}, 409, "sandbox_of_other_kind"),
        ({"repository": None, "is_shared": False}, 409, "sandbox_not_shareable"),
    ],
)
async def test_why_it_cannot_join(
    client: httpx.AsyncClient, made: Sandboxes, sandbox: dict[str, Any], status: int, code: str
) -> None:
    sandbox_id = await made.make(**sandbox)

    reply = await client.post(ROOT, json={"sandbox_id": sandbox_id})

    assert_problem(reply, status, code)
    assert (await client.get(f"{ROOT}/count", params={"sandbox_id__eq": sandbox_id})).json() == (
        sandbox.get("conversations", 1)
    )


async def test_a_conversation_in_a_named_sandbox_takes_its_image_unless_another_is_requested(
    client: httpx.AsyncClient, made: Sandboxes
) -> None:
    sandbox_id = await made.make(base_image="python:3.12")

    other = await client.post(ROOT, json={"sandbox_id": sandbox_id, "sandbox_spec_id": "default"})

    assert_problem(other, 409, "sandbox_of_other_image")
    assert (await start(client, sandbox_id=sandbox_id))["sandbox_id"] == sandbox_id


async def test_the_sandbox_of_another_user_cannot_be_joined(
    app: App, client: httpx.AsyncClient, made: Sandboxes
) -> None:
    async with app.database.session() as session:
        stranger = await create_user(session, name="Somebody", role=Role.MEMBER)
    foreign = await made.make(user=stranger)

    for sandbox_id in (foreign, uuid4().hex):
        assert_problem(await client.post(ROOT, json={"sandbox_id": sandbox_id}), 404, "sandbox_not_found")


async def test_a_sandbox_that_may_call_other_hosts_is_not_joined(
    client: httpx.AsyncClient, made: Sandboxes
) -> None:
    sandbox_id = await made.make()
    await client.put(f"{NETWORK}/repositories", json={"repository": HARBOUR, "mode": "none", "hosts": []})
    await choose(client, "ADD_TO_ANY")
    other = {"selected_repository": HARBOUR}

    refused = await client.post(ROOT, json={**other, "sandbox_id": sandbox_id})
    task = await start(client, **other)

    assert_problem(refused, 409, "sandbox_policy_differs")
    assert task["sandbox_id"] == task["id"]
    assert (await start(client))["sandbox_id"] == sandbox_id


async def test_stricter_rules_apply_to_all_conversations_of_a_sandbox(
    client: httpx.AsyncClient, made: Sandboxes
) -> None:
    sandbox_id = await made.make()
    joined = await start(client, selected_repository=HARBOUR, sandbox_id=sandbox_id)

    await client.put(f"{NETWORK}/repositories", json={"repository": HARBOUR, "mode": "none", "hosts": []})

    for conversation_id in (sandbox_id, joined["id"]):
        shown = (await client.get(f"{ROOT}/{conversation_id}/network")).json()
        assert shown["mode"] == "none"


async def test_a_start_in_a_shared_sandbox_is_not_retried_with_another_repository(
    app: App, client: httpx.AsyncClient, made: Sandboxes
) -> None:
    """Another repository would change which hosts the other conversations in the sandbox may call. So the
    retry is refused.
    """
    first = await made.make(1)
    task = await start(client, sandbox_id=first)
    async with app.database.session() as session:
        failed = update(StartTask).where(StartTask.id == UUID(task["id"]))
        await session.execute(failed.values(status=StartStatus.ERROR))
    retry = f"{ROOT}/start-tasks/{task['id']}/retry"

    refused = await client.post(retry, json={"selected_repository": HARBOUR})
    told = await client.post(retry, json={"selected_repository": SHOP, "selected_branch": "trunk"})

    assert_problem(refused, 409, "sandbox_shared")
    assert told.json()["request"]["selected_branch"] == "trunk"


async def test_credentials_of_one_repository_are_not_brought_to_another(
    app: App, client: httpx.AsyncClient, made: Sandboxes, owner: User
) -> None:
    sandbox_id = await made.make()
    async with app.database.session() as session:
        session.add(
            EgressCredential(
                user_id=owner.id,
                owner=owner.id.hex,
                scope=CredentialScope.REPOSITORY,
                subject=parse_address(SHOP).identity,
                host="api.example.org",
                port=443,
                path_prefix="",
                kind=next(iter(CredentialKind)),
                header="",
                username="",
                value_encrypted="",
            )
        )

    other = await client.post(ROOT, json={"selected_repository": HARBOUR, "sandbox_id": sandbox_id})

    assert_problem(other, 409, "sandbox_policy_differs")
    assert (await start(client, sandbox_id=sandbox_id))["sandbox_id"] == sandbox_id


async def test_a_conversation_from_a_snapshot_has_a_separate_sandbox(
    client: httpx.AsyncClient, made: Sandboxes
) -> None:
    body = {"sandbox_id": await made.make(), "snapshot_id": uuid4().hex}

    assert_problem(await client.post(ROOT, json=body), 404, "snapshot_not_found")


async def test_a_sandbox_that_is_being_deleted_cannot_be_joined(
    app: App, client: httpx.AsyncClient, made: Sandboxes
) -> None:
    sandbox_id = await made.make()
    await client.delete(f"{ROOT}/{sandbox_id}")

    assert_problem(await client.post(ROOT, json={"sandbox_id": sandbox_id}), 404, "sandbox_gone")
    async with app.database.read() as session:
        assert await session.scalar(select(Sandbox.id)) == UUID(sandbox_id)
