"""Tests of conversations that have a parent conversation, and of other fields of a start request about a
conversation.
"""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from app_server.conversations.start.suggested_task import SuggestedTask, TaskType, message_of
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

ROOT = "/api/v1/app-conversations"
SHOP = "https://github.com/acme/shop"
TASK = {
    "git_provider": "github",
    "task_type": "FAILING_CHECKS",
    "repo": "acme/shop",
    "issue_number": 7,
    "title": "Sell tea",
}


@pytest.fixture(autouse=True)
async def nothing_starts(app: App) -> None:
    """Stops the start worker: these tests need only the stored conversations, and no running ones."""
    await app.state["start_worker"].close()


async def start(client: httpx.AsyncClient, **request: Any) -> dict[str, Any]:
    reply = await client.post(ROOT, json=request)
    assert reply.status_code == 200, reply.text
    task: dict[str, Any] = reply.json()
    return task


async def shown(client: httpx.AsyncClient, *ids: str) -> list[Any]:
    found: list[Any] = (await client.get(ROOT, params={"ids": list(ids)})).json()
    return found


async def searched(client: httpx.AsyncClient, **params: Any) -> list[str]:
    page = (await client.get(f"{ROOT}/search", params=params)).json()
    count = (await client.get(f"{ROOT}/count", params=params)).json()
    assert count == len(page["items"])
    return [item["id"] for item in page["items"]]


@pytest.fixture
async def parent(client: httpx.AsyncClient) -> str:
    (await client.put("/api/v1/settings/sandbox-grouping", json={"sandbox_grouping_strategy": "ADD_TO_ANY"}))
    task = await start(client, selected_repository=SHOP, selected_branch="tea")
    parent_id: str = task["id"]
    return parent_id


async def test_a_sub_conversation_starts_in_the_sandbox_of_its_parent_and_is_listed_below_it(
    client: httpx.AsyncClient, parent: str
) -> None:
    first = await start(client, parent_conversation_id=parent)
    second = await start(client, parent_conversation_id=parent)
    above, below = await shown(client, parent, first["id"])

    assert below["parent_conversation_id"] == parent
    assert (below["selected_repository"], below["selected_branch"]) == (SHOP, "tea")
    assert below["sandbox_id"] == above["sandbox_id"]
    assert above["sub_conversation_ids"] == [first["id"], second["id"]]
    assert await searched(client) == [parent]
    everybody = await searched(client, include_sub_conversations=True)
    assert everybody == [second["id"], first["id"], parent]


async def test_a_parent_that_lost_its_repository_passes_on_no_branch(
    client: httpx.AsyncClient, parent: str
) -> None:
    (await client.patch(f"{ROOT}/{parent}", json={"selected_repository": None})).raise_for_status()
    assert (await shown(client, parent))[0]["selected_branch"] == "tea"

    [child] = await shown(client, (await start(client, parent_conversation_id=parent))["id"])

    assert (child["selected_repository"], child["selected_branch"]) == (None, None)


async def test_a_sub_conversation_is_deleted_with_its_parent_and_removed_from_it(
    client: httpx.AsyncClient, parent: str
) -> None:
    child = (await start(client, parent_conversation_id=parent))["id"]
    grandchild = (await start(client, parent_conversation_id=child))["id"]
    other = (await start(client, parent_conversation_id=parent))["id"]

    (await client.delete(f"{ROOT}/{other}")).raise_for_status()
    assert (await shown(client, parent))[0]["sub_conversation_ids"] == [child]
    (await client.delete(f"{ROOT}/{parent}")).raise_for_status()

    assert await shown(client, parent, child, grandchild, other) == [None] * 4


async def test_only_an_own_conversation_can_be_a_parent(
    app: App, client: httpx.AsyncClient, parent: str
) -> None:
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as stranger:
        foreign = await stranger.post(ROOT, json={"parent_conversation_id": parent})
    unknown = await client.post(ROOT, json={"parent_conversation_id": uuid4().hex})

    assert_problem(foreign, 404, "parent_not_found")
    assert_problem(unknown, 404, "parent_not_found")


async def test_pull_requests_are_kept_with_it(client: httpx.AsyncClient) -> None:
    task = await start(client, pr_number=[7, 12])

    assert (await shown(client, task["id"]))[0]["pr_number"] == [7, 12]


async def test_a_suggested_task_makes_the_first_message(client: httpx.AsyncClient) -> None:
    task = await start(client, suggested_task=TASK)
    (conversation,) = await shown(client, task["id"])

    assert conversation["trigger"] == "suggested_task"
    assert (conversation["selected_repository"], conversation["git_provider"]) == ("acme/shop", "github")
    text = task["request"]["initial_message"]["content"][0]["text"]
    assert text.startswith("Pull request #7 of acme/shop: Sell tea\n\nIts checks fail.")
    message = {"role": "user", "content": [{"type": "text", "text": "And more"}]}
    both = await client.post(ROOT, json={"suggested_task": TASK, "initial_message": message})
    assert_problem(both, 400, "two_messages")


@pytest.mark.parametrize("kind", list(TaskType))
def test_each_kind_of_task_has_its_words(kind: TaskType) -> None:
    task = SuggestedTask.model_validate({**TASK, "task_type": kind, "git_provider": "gitlab"})

    first = message_of(task).splitlines()[0]

    what = "Issue" if kind is TaskType.OPEN_ISSUE else "Merge request"
    assert first == f"{what} #7 of acme/shop: Sell tea"
