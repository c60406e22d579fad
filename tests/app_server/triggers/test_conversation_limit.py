"""Tests of the limit on a repository's active conversations: which conversations count, and in which order
waiting deliveries continue.
"""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.trigger_progress import tell_of_progress
from app_server.core.database import now
from app_server.core.jobs.models import Job, JobState
from app_server.core.jobs.policy import JobAttempt
from app_server.core.jobs.worker import Jobs
from app_server.sandbox_records.models import SandboxStatus
from app_server.triggers import conversation_limit, handling
from app_server.triggers.models import Trigger
from tests.app_server.eventually import eventually
from tests.app_server.triggers.conftest import Hooked
from tests.app_server.triggers.test_handling import conversations, labelled
from tests.support.standing_host import OpenIssue


async def active(hooked: Hooked) -> int:
    async with hooked.app.database.read() as session:
        trigger = await session.get_one(Trigger, UUID(hooked.trigger["id"]))
        return await conversation_limit.at_work(session, trigger)


@pytest.mark.both_databases
async def test_an_agent_counts_only_while_it_starts_or_its_sandbox_is_up(hooked: Hooked) -> None:
    await hooked.send("issues", labelled())
    (delivery,) = await hooked.deliveries()
    conversation_id = UUID(delivery["conversation_id"])
    assert await active(hooked) == 1, "its start is under way"
    async with hooked.app.database.session() as session:
        await session.execute(update(StartTask).values(status=StartStatus.READY))
        await session.execute(update(Conversation).values(execution_status="running"))
        owner_id = (await session.get_one(Conversation, conversation_id)).user_id
        sandboxes = hooked.app.state["sandboxes"]
        sandbox = await sandboxes.create(session, sandbox_id=conversation_id, user_id=owner_id)
    counted = {}
    for status in SandboxStatus:
        async with hooked.app.database.session() as session:
            (await session.merge(sandbox)).status = status
        counted[status] = await active(hooked)
    assert {status for status, count in counted.items() if count} == {
        SandboxStatus.STARTING,
        SandboxStatus.RUNNING,
    }
    async with hooked.app.database.session() as session:
        await session.delete(await session.merge(sandbox))
    assert await active(hooked) == 0, "its sandbox was deleted"


async def wait_behind_issue_4(hooked: Hooked, numbers: Collection[int]) -> None:
    """Starts a conversation for issue 4. Then sends one delivery for each of these issues, in this order. The
    deliveries wait, because one conversation at a time may be active.
    """
    hooked.host.issues.open |= {each: OpenIssue(each, f"Issue {each}", "") for each in numbers}
    await hooked.add(max_running=1)
    await hooked.send("issues", labelled(4))
    await hooked.deliveries()
    for count, number in enumerate(numbers, start=1):
        await hooked.send("issues", labelled(number))
        await until_held(hooked, count)


async def held(hooked: Hooked) -> list[Job]:
    async with hooked.app.database.read() as session:
        query = select(Job).where(Job.kind == conversation_limit.HELD_KIND, Job.state == JobState.WAITING)
        return list(await session.scalars(query.order_by(Job.created_at)))


async def until_held(hooked: Hooked, count: int) -> None:
    async def so_many() -> bool:
        return len(await held(hooked)) == count

    await eventually(so_many)


async def finish_newest(hooked: Hooked, *, is_told: bool = True) -> None:
    newest = (await conversations(hooked))[-1]
    async with hooked.app.database.session() as session:
        (await session.get_one(Conversation, newest.id)).execution_status = "finished"
        if is_told:
            await session.flush()
            await tell_of_progress(session, newest.id)


async def all_rest(hooked: Hooked) -> bool:
    """Whether all deliveries that are not handled wait for their turn, and none is looked at now."""
    kinds = ("triggers.handle", conversation_limit.HELD_KIND)
    unfinished = select(Job).where(Job.kind.in_(kinds), Job.state != JobState.DONE)
    async with hooked.app.database.read() as session:
        found = list(await session.scalars(unfinished))
    return all(one.kind == conversation_limit.HELD_KIND and one.run_at > now() for one in found)


async def started_next(hooked: Hooked) -> str | None:
    """Finishes the newest conversation, and waits for the next one. Returns its title."""
    await eventually(lambda: all_rest(hooked))
    before = len(await conversations(hooked))

    async def has_started() -> bool:
        return len(await conversations(hooked)) > before

    await finish_newest(hooked)
    await eventually(has_started)
    return (await conversations(hooked))[-1].title


@pytest.mark.both_databases
async def test_waiting_deliveries_start_in_the_order_in_which_they_came(hooked: Hooked) -> None:
    numbers = range(5, 10)
    await wait_behind_issue_4(hooked, numbers)
    assert [await started_next(hooked) for _ in numbers] == [f"#{each} Issue {each}" for each in numbers]
    assert {one["state"] for one in await hooked.deliveries()} == {"done"}


@pytest.mark.both_databases
async def test_waiting_deliveries_keep_their_order_over_a_restart(hooked: Hooked) -> None:
    numbers = range(5, 9)
    await wait_behind_issue_4(hooked, numbers)
    kinds = hooked.jobs._kinds
    await hooked.jobs.close()
    async with hooked.app.database.session() as session:
        # The server was away for a long time, and the newer ones had looked for a place earlier.
        for age, job in enumerate(await held(hooked), start=1):
            job.run_at = now() - timedelta(minutes=age)
            await session.merge(job)
    jobs = Jobs(hooked.app.database, hooked.app.state["pubsub"])
    jobs._kinds = {name: kinds[name] for name in ("triggers.handle", "triggers.held", "triggers.progress")}
    await finish_newest(hooked, is_told=False)
    await jobs.open()
    try:

        async def one_has_started() -> bool:
            return len(await conversations(hooked)) == 2

        await eventually(one_has_started)
        for _ in numbers[1:]:
            await started_next(hooked)
        assert {one["state"] for one in await hooked.deliveries()} == {"done"}
    finally:
        await jobs.close()
    titles = [one.title for one in await conversations(hooked)][1:]
    assert titles == [f"#{each} Issue {each}" for each in numbers]


async def test_a_new_delivery_does_not_overtake_one_that_waits(hooked: Hooked) -> None:
    await wait_behind_issue_4(hooked, (5,))
    hooked.host.issues.open[6] = OpenIssue(6, "Issue 6", "")
    # The place is free, and the waiting delivery does not know it yet.
    await finish_newest(hooked, is_told=False)
    await hooked.send("issues", labelled(6))

    async def one_has_started() -> bool:
        return len(await conversations(hooked)) == 2

    await eventually(one_has_started)
    assert (await conversations(hooked))[-1].title == "#5 Issue 5"
    await until_held(hooked, 1)
    assert await started_next(hooked) == "#6 Issue 6"


async def test_the_next_delivery_continues_if_one_that_has_waited_starts_nothing(hooked: Hooked) -> None:
    await wait_behind_issue_4(hooked, range(5, 10))
    for number in range(5, 9):
        hooked.host.issues.open[number].state = "closed"
    assert await started_next(hooked) == "#9 Issue 9"
    newest, *_ = await hooked.deliveries()
    assert (newest["number"], newest["state"]) == (9, "done")


async def test_a_delivery_that_has_waited_is_not_refused_because_many_wait(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wait_behind_issue_4(hooked, (5, 6))
    monkeypatch.setattr(conversation_limit, "MAX_HELD", 1)
    (oldest, _) = await held(hooked)
    handle = hooked.jobs._kinds["triggers.handle"].handler
    payload = oldest.payload["delivery"]
    again = JobAttempt(uuid4(), "triggers.handle", payload, key=None, number=1, is_last=False)
    assert await handle(again) == {"state": "waiting", "action": None}


async def test_a_waiting_delivery_fails_if_its_job_is_dead_and_the_next_one_continues(hooked: Hooked) -> None:
    await wait_behind_issue_4(hooked, (5, 6))
    oldest, _ = await held(hooked)
    await finish_newest(hooked, is_told=False)
    async with hooked.app.database.session() as session:
        job = await session.get_one(Job, oldest.id)
        job.attempts, job.run_at = handling.POLICY.attempts, now()
    hooked.jobs.wake()
    next_one, failed, _ = await hooked.deliveries()
    assert (failed["number"], failed["state"]) == (5, "failed")
    assert failed["reason"] == "The server ended, or was silent, during the last attempt."
    assert (next_one["number"], next_one["action"]) == (6, "start")
