"""Tests of callbacks that comment on the issue or the pull requests of a conversation."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from app_server import lifespan
from app_server.git.providers import GitProvider
from app_server.git_hosts.own_comments import MARKER
from app_server.git_hosts.schemas import Mergeability, PullRequestState
from app_server.pull_requests.models import ConversationPullRequest
from app_server.triggers.models import TriggeredConversation
from app_server.users.models import User
from tests.app_server.callbacks.test_telling_people import FINISHED
from tests.app_server.callbacks.test_webhooks_out import PATH, QUICK, conversation_of, reaches, report
from tests.app_server.triggers.conftest import REPOSITORY, Hooked
from tests.support.github_issues import issue_event
from tests.support.standing_host import LOGIN

WANTED = {"name": "At the host", "processor": "comment", "statuses": ["finished"]}
SAID = "The agent has finished."
ISSUE, PULL = 4, 9


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "DELIVERY_POLICY", QUICK)


def comments(hooked: Hooked, number: int) -> Sequence[str]:
    return [text for text in hooked.host.issues.texts(number, LOGIN) if SAID in text]


async def started_by_issue(hooked: Hooked, owner: User) -> UUID:
    conversation_id = await conversation_of(hooked.app, owner)
    async with hooked.app.database.session() as session:
        session.add(
            TriggeredConversation(
                conversation_id=conversation_id,
                trigger_id=UUID(hooked.trigger["id"]),
                is_pull_request=False,
                number=ISSUE,
            )
        )
    return conversation_id


async def open_pull_request(hooked: Hooked, owner: User, conversation_id: UUID) -> None:
    async with hooked.app.database.session() as session:
        session.add(
            ConversationPullRequest(
                id=uuid4(),
                conversation_id=conversation_id,
                user_id=owner.id,
                provider=GitProvider.GITHUB,
                origin=hooked.host.git.origin,
                repository=REPOSITORY,
                number=PULL,
                url="https://example.com/pull/9",
                title="Light it",
                state=PullRequestState.OPEN,
                is_draft=False,
                head="light",
                base="main",
                mergeability=Mergeability.UNKNOWN,
            )
        )


async def test_the_issue_gets_each_comment_once_and_the_comment_sets_nothing_off(
    hooked: Hooked, owner: User
) -> None:
    conversation_id = await started_by_issue(hooked, owner)
    callback = (await hooked.client.post(PATH, json=WANTED)).raise_for_status().json()

    await report(hooked.app, conversation_id, FINISHED)
    (delivery,) = await reaches(hooked.client, callback, "delivered")
    (text,) = comments(hooked, ISSUE)
    assert f"/conversations/{conversation_id.hex}" in text
    assert MARKER in text

    again = f"{PATH}/{callback['id']}/deliveries/{delivery['id']}/redeliver"
    (await hooked.client.post(again)).raise_for_status()
    (repeated,) = await reaches(hooked.client, callback, "delivered")
    assert repeated["attempts"] == 2
    assert len(comments(hooked, ISSUE)) == 1

    told = issue_event("created", ISSUE, LOGIN, REPOSITORY, comment={"id": 1000, "body": f"@slipway {text}"})
    assert await hooked.send("issue_comment", told) == 202
    (heard,) = await hooked.deliveries()
    assert (heard["state"], heard["reason"]) == ("ignored", "Slipway wrote this comment itself.")


async def test_an_open_pull_request_comes_before_the_issue(hooked: Hooked, owner: User) -> None:
    conversation_id = await started_by_issue(hooked, owner)
    await open_pull_request(hooked, owner, conversation_id)
    callback = (await hooked.client.post(PATH, json=WANTED)).raise_for_status().json()

    await report(hooked.app, conversation_id, FINISHED)
    await reaches(hooked.client, callback, "delivered")
    assert (len(comments(hooked, PULL)), len(comments(hooked, ISSUE))) == (1, 0)


async def test_a_conversation_without_a_place_says_so_and_is_no_dead_job(hooked: Hooked, owner: User) -> None:
    conversation_id = await conversation_of(hooked.app, owner)
    without_filter = {**WANTED, "statuses": []}
    assert (await hooked.client.post(PATH, json=without_filter)).status_code == 422
    callback = (await hooked.client.post(PATH, json=WANTED)).raise_for_status().json()

    await report(hooked.app, conversation_id, FINISHED)
    (failed,) = await reaches(hooked.client, callback, "failed")
    assert failed["error"].startswith("The conversation has no open pull request")
    dead = await hooked.client.get("/api/v1/administration/jobs", params={"state": "dead"})
    assert dead.json()["items"] == []
