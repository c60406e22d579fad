"""Tests of handling deliveries: each one starts a conversation, sends a message, pauses a conversation, or
does nothing. No delivery has its effect twice.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import ANY
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, update

from app_server.conversations.models import Conversation, PendingMessage, StartTask
from app_server.conversations.trigger_progress import tell_of_progress
from app_server.core.database import now
from app_server.core.jobs.models import LONG_AGO, Job, JobState
from app_server.core.jobs.policy import JobAttempt
from app_server.core.jobs.worker import Jobs
from app_server.git.address import parse_address
from app_server.git_hosts.github.client import GitHub
from app_server.git_hosts.schemas import Mergeability, PullRequestState
from app_server.git_proxy.models import GitPush, PushOutcome
from app_server.pull_requests.models import ConversationPullRequest
from app_server.triggers import handling, retention
from app_server.triggers.models import DeliveryResult, TriggerDelivery, TriggeredConversation
from app_server.triggers.progress import TriggerProgress
from app_server.users.models import User
from tests.app_server.eventually import eventually
from tests.app_server.teams.test_team_repositories import own
from tests.app_server.teams.test_teams import new_team
from tests.app_server.triggers.conftest import REPOSITORY, Hooked
from tests.support.github_issues import issue_event
from tests.support.standing_host import LOGIN, OpenIssue, OpenPull


def labelled(number: int = 4, sender: str = "grace") -> dict[str, Any]:
    return issue_event("labeled", number, sender, REPOSITORY, label={"name": "slipway"})


def mention(text: str = "@slipway go on", sender: str = "grace") -> dict[str, Any]:
    return issue_event("created", 4, sender, REPOSITORY, comment={"id": 8, "body": text})


async def conversations(hooked: Hooked) -> list[Conversation]:
    async with hooked.app.database.read() as session:
        return list(await session.scalars(select(Conversation).order_by(Conversation.created_at)))


async def messages(hooked: Hooked) -> list[str]:
    async with hooked.app.database.read() as session:
        found = await session.scalars(select(PendingMessage).order_by(PendingMessage.position))
        return [one.message["content"][0]["text"] for one in found]


async def test_an_issue_has_one_conversation_and_further_mentions_go_there(hooked: Hooked) -> None:
    (await hooked.client.post("/api/v1/settings", json={"clone": "shallow"})).raise_for_status()
    await hooked.send("issues", labelled())
    await hooked.send("issues", labelled())
    await hooked.send("issue_comment", mention())
    await hooked.send("issue_comment", mention(sender="mallory"))
    await hooked.send("issues", issue_event("closed", 4, "grace", REPOSITORY))
    found = [(one["action"], one["state"], one["reason"]) for one in await hooked.deliveries()]
    assert found[::-1] == [
        ("start", "done", None),
        (None, "ignored", "A conversation about it is already there."),
        ("tell", "done", None),
        (None, "ignored", f"mallory may not push to {REPOSITORY}."),
        ("pause", "done", None),
    ]
    (conversation,) = await conversations(hooked)
    assert (conversation.trigger, conversation.title) == ("git_host", "#4 The lighthouse is dark")
    async with hooked.app.database.read() as session:
        task = await session.get_one(StartTask, conversation.id)
        link = await session.get_one(TriggeredConversation, conversation.id)
    assert task.request["clone"] == "shallow", "a trigger fetches what its owner's settings say"
    first = task.request["initial_message"]["content"][0]["text"]
    assert first.index("<untrusted from=") < first.index("Light it.") < first.index("</untrusted")
    (second,) = await messages(hooked)
    assert second.index("<untrusted from=") < second.index("@slipway go on")
    assert link.is_stopped


async def test_a_host_that_does_not_answer_is_asked_again(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = timedelta(milliseconds=1)
    of_event = handling.Handling._of_event
    monkeypatch.setattr(handling.Handling, "_of_event", failing_once(of_event))
    known = hooked.jobs._kinds["triggers.handle"]
    quick = handling.RetryPolicy(attempts=8, first_pause=pause, longest_pause=pause)
    hooked.jobs._kinds["triggers.handle"] = type(known)(known.handler, quick)
    await hooked.send("issues", labelled())
    (delivery,) = await hooked.deliveries()
    assert (delivery["action"], delivery["reason"]) == ("start", None)
    # The issue was still open when the git host sent the delivery.
    hooked.host.issues.open[5] = OpenIssue(5, "The buoy is lost", "Find it.", state="closed")
    monkeypatch.setattr(handling.Handling, "_of_event", failing_once(of_event))
    await hooked.send("issues", labelled(5))
    late, _ = await hooked.deliveries()
    assert (late["action"], late["reason"]) == (None, "It was closed before its conversation could start.")


def failing_once(method: Any) -> Any:
    left = [1]

    async def fails(*arguments: Any, **named: Any) -> Any:
        if left.pop() if left else 0:
            raise handling.BadGateway("It is away.")
        return await method(*arguments, **named)

    return fails


async def test_a_hundred_deliveries_are_handled_once_over_the_end_of_a_worker(hooked: Hooked) -> None:
    numbers = range(10, 35)
    await hooked.add(max_running=100)
    hooked.host.issues.open |= {each: OpenIssue(each, f"Issue {each}", "") for each in numbers}
    await asyncio.gather(*(hooked.send("issues", labelled(each), f"d-{each}") for each in [*numbers] * 4))

    async def some_are_done() -> bool:
        return len(await conversations(hooked)) > 5

    await eventually(some_are_done)
    kinds = hooked.jobs._kinds
    await hooked.jobs.close()
    left = len(numbers) - len(await conversations(hooked))
    assert left > 0, "the worker has ended in the middle"
    jobs = Jobs(hooked.app.database, hooked.app.state["pubsub"])
    jobs._kinds = {name: kinds[name] for name in ("triggers.handle", "triggers.progress")}
    await jobs.open()
    try:
        found = await hooked.deliveries()
    finally:
        await jobs.close()
    assert [one["state"] for one in found] == ["done"] * len(numbers)
    titles = [one.title for one in await conversations(hooked)]
    assert sorted(titles, key=str) == sorted(f"#{each} Issue {each}" for each in numbers)


async def test_no_more_conversations_work_at_once_than_the_trigger_allows(hooked: Hooked) -> None:
    hooked.host.issues.open |= {each: OpenIssue(each, f"Issue {each}", "") for each in (5, 6)}
    await hooked.add(max_running=1)
    await hooked.send("issues", labelled(4))
    (first,) = await hooked.deliveries()
    for number in (5, 6):
        await hooked.send("issues", labelled(number))

    async def both_wait() -> bool:
        path = f"/api/v1/triggers/{hooked.trigger['id']}/deliveries"
        found = (await hooked.client.get(path)).json()["items"]
        reasons = [one["reason"] for one in found if one["state"] == "waiting"]
        return reasons == ["It waits, because conversations about this repository are at work: 1."] * 2

    await eventually(both_wait)
    hooked.host.issues.open[5].state = "closed"
    async with hooked.app.database.session() as session:
        started = UUID(first["conversation_id"])
        await session.execute(
            update(Conversation).where(Conversation.id == started).values(execution_status="finished")
        )
        await tell_of_progress(session, started)
    third, second, _ = await hooked.deliveries()
    assert second["reason"] == "It was closed before its conversation could start."
    assert (third["state"], third["action"]) == ("done", "start")
    assert [one.title for one in await conversations(hooked)] == ["#4 The lighthouse is dark", "#6 Issue 6"]


async def pull_request_of(hooked: Hooked, owner: User) -> UUID:
    """Stores a pull request with a failing check, which a conversation of the owner has opened. Returns the
    conversation's id.
    """
    await hooked.send("issues", labelled())
    await hooked.deliveries()
    (conversation,) = await conversations(hooked)
    head = hooked.host.git.branches(REPOSITORY)["refs/heads/main"]
    opened = {"title": "Light", "head": "main", "base": "main"}
    hooked.host.pulls.append(OpenPull(1, opened, checks={"tests": "failure"}))
    async with hooked.app.database.session() as session:
        session.add(
            ConversationPullRequest(
                conversation_id=conversation.id,
                user_id=owner.id,
                provider="github",
                origin=hooked.host.git.origin,
                repository=REPOSITORY,
                number=1,
                url="https://example.org/1",
                title="Light",
                state=PullRequestState.OPEN,
                is_draft=True,
                head="main",
                base="main",
                head_commit=head,
                mergeability=Mergeability.CLEAN,
            )
        )
    return conversation.id


def failed_check(commit: str) -> dict[str, Any]:
    suite = {"conclusion": "failure", "head_sha": commit, "head_branch": "main", "pull_requests": []}
    return {
        "action": "completed",
        "repository": {"full_name": REPOSITORY},
        "sender": {"login": "bot", "id": 2},
        "check_suite": suite,
    }


async def test_failing_checks_go_to_the_conversation_once_for_each_commit_and_not_forever(
    hooked: Hooked, owner: User
) -> None:
    conversation_id = await pull_request_of(hooked, owner)
    for commit in ("c0", "c0", "c1", "c2", "c3", "c4", "c5"):
        await hooked.send("check_suite", failed_check(commit))
    found = (await hooked.deliveries())[::-1][1:]
    handed_over = [one["action"] == "fix_checks" for one in found]
    assert handed_over == [True, False, True, True, True, True, False]
    assert "A person has to look." in found[-1]["reason"]
    assert {one["conversation_id"] for one in found if one["action"]} == {conversation_id.hex}
    sent = await messages(hooked)
    assert len(sent) == 5
    assert "assert 3 == 4" in sent[0]


async def test_a_push_to_a_path_starts_one_conversation_and_agents_own_pushes_none(
    hooked: Hooked, owner: User
) -> None:
    await hooked.add(events=["push"], paths=["docs"], instructions="Check the links.")
    async with hooked.app.database.session() as session:
        session.add(
            GitPush(
                user_id=owner.id,
                sandbox_id=uuid4(),
                repository=f"github.com/{REPOSITORY}",
                ref="refs/heads/main",
                old_commit="0" * 40,
                new_commit="b" * 40,
                outcome=PushOutcome.ACCEPTED,
            )
        )
    for commit, path in (("a", "src/a.py"), ("b", "docs/b.md"), ("c", "docs/c.md"), ("d", "docs/d.md")):
        body = {
            "ref": "refs/heads/main",
            "after": commit * 40,
            "repository": {"full_name": REPOSITORY},
            "sender": {"login": "grace", "id": 1},
            "commits": [{"added": [path], "removed": [], "modified": []}],
        }
        await hooked.send("push", body)
    found = [(one["action"], one["reason"]) for one in await hooked.deliveries()][::-1]
    assert found == [
        (None, "The event does not match this trigger."),
        (None, "An agent has pushed this commit."),
        ("start", None),
        ("tell", None),
    ]
    (conversation,) = await conversations(hooked)
    assert conversation.title == "Push to main"


async def test_a_failed_start_is_told_and_a_lost_comment_is_found_again(hooked: Hooked) -> None:
    await hooked.send("issues", labelled())
    await hooked.deliveries()
    (conversation,) = await conversations(hooked)

    async def is_told() -> bool:
        return bool(hooked.host.issues.texts(4, LOGIN))

    await eventually(is_told)
    async with hooked.app.database.session() as session:
        failed = {"status": "ERROR", "error": {"cause": "There is no room."}}
        await session.execute(update(StartTask).values(**failed))
        # As after a server that was killed before it stored the comment's id.
        await session.execute(update(TriggeredConversation).values(comment_id=None, comment=None))
    progress: TriggerProgress = hooked.jobs._kinds["triggers.progress"].handler.__self__  # type: ignore[attr-defined]
    payload = {"conversation_id": conversation.id.hex}
    result = await progress.follow(
        JobAttempt(uuid4(), "triggers.progress", payload, key=None, number=1, is_last=False)
    )
    assert result == {"said": "Slipway could not start: There is no room."}
    (text,) = hooked.host.issues.texts(4, LOGIN)
    assert text.startswith("Slipway could not start: There is no room.")


async def test_the_issue_says_why_a_start_is_refused_in_one_comment(hooked: Hooked) -> None:
    team = await new_team(hooked.client, "Core")
    identity = parse_address(hooked.host.git.url(REPOSITORY)).identity
    (await own(hooked.client, team, identity, members_only=True)).raise_for_status()
    for _ in range(2):
        await hooked.send("issues", labelled())
    found = await hooked.deliveries()
    reason = f"{identity} belongs to the team 'Core'. Only its members may start conversations on it."
    assert [(one["state"], one["reason"]) for one in found] == [("failed", reason)] * 2
    (text,) = hooked.host.issues.texts(4, LOGIN)
    assert text.startswith(f"Slipway could not start: {reason}")
    assert await conversations(hooked) == []


async def test_a_delivery_fails_if_its_last_attempt_takes_too_long(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_answers(*_arguments: Any) -> bool:
        await asyncio.sleep(3600)
        return False

    monkeypatch.setattr(GitHub, "may_push", never_answers)
    known = hooked.jobs._kinds["triggers.handle"]
    brief = handling.RetryPolicy(attempts=1, timeout=timedelta(seconds=1))
    hooked.jobs._kinds["triggers.handle"] = replace(known, policy=brief)
    await hooked.send("issues", labelled())
    (delivery,) = await hooked.deliveries()
    assert (delivery["state"], delivery["reason"]) == ("failed", "It took longer than 1 s.")


async def test_a_delivery_is_done_if_its_job_was_cut_off_after_the_start(hooked: Hooked) -> None:
    await hooked.send("issues", labelled())
    (before,) = await hooked.deliveries()
    async with hooked.app.database.session() as session:
        # As after a server that was killed in the last attempt, before it had noted the start.
        unknown = {"state": DeliveryResult.WAITING, "action": None, "conversation_id": None}
        await session.execute(update(TriggerDelivery).values(**unknown, handled_at=None))
        cut_off = update(Job).where(Job.kind == "triggers.handle")
        await session.execute(
            cut_off.values(state=JobState.RUNNING, attempts=handling.POLICY.attempts, lease_until=LONG_AGO)
        )
    hooked.jobs.wake()
    assert await hooked.deliveries() == [{**before, "handled_at": ANY}]


async def test_old_deliveries_are_forgotten(hooked: Hooked) -> None:
    for each in ("old", "new"):
        await hooked.send("issues", labelled(sender="mallory"), each)
    await hooked.deliveries()
    async with hooked.app.database.session() as session:
        aged = update(TriggerDelivery).where(TriggerDelivery.delivery_id == "old")
        await session.execute(aged.values(created_at=now() - retention.RETENTION - timedelta(minutes=1)))
    attempt = JobAttempt(uuid4(), retention.KIND, {}, key=None, number=1, is_last=False)
    await retention.forgetter(hooked.app.database)(attempt)
    async with hooked.app.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(TriggerDelivery)) == 1
