"""Leases, changes, reopens and ends start tasks in SQL. A start task describes one start of a conversation. A
lease gives one start worker the right to work on a start task for a limited time.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, false, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app_server.conversations.models import LONG_AGO, STAGES, Conversation, StartStatus, StartTask
from app_server.conversations.schemas import StartError, StartStage
from app_server.conversations.trigger_progress import tell_of_progress
from app_server.core.database import now
from app_server.sandbox_records.models import Sandbox

LEASE = timedelta(seconds=10)

_ENDED = (StartStatus.READY, StartStatus.ERROR)


class LeaseLost(Exception):
    """The error for a start worker that has lost its lease (the temporary right to work on a conversation's
    start). The start task was deleted, or another worker has leased the task. The worker then stops and saves
    nothing.
    """


def new_stages() -> list[Any]:
    return [StartStage(status=status).model_dump(mode="json") for status in STAGES]


@dataclass(frozen=True)
class Claim:
    """The start task that a worker has just leased: `id` is the id of the start task, `sandbox_id` is the id
    of the conversation's sandbox. A lease is the right to work on a conversation's start for a limited time.
    """

    id: UUID
    sandbox_id: UUID


async def claim(
    session: AsyncSession, owner: str, server_id: str | None = None, under_way: Collection[UUID] = ()
) -> Claim | None:
    """Leases a free start task to the worker `owner`: for the time LEASE, no other worker may work on the
    start of this conversation. Returns the ids of the task and of its sandbox, or None if no start task is
    free.

    Chooses a task of the user with the fewest active starts, and the oldest task if there are several. So a
    user does not wait until all starts of another user have ended.

    server_id: the id of this server; tasks whose sandbox is a process of another server are skipped.
    under_way: ids of the tasks that `owner` already works on. These tasks are skipped even if their leases
    have expired, because two runs of one start would undo each other's work.
    """
    moment = now()
    other = aliased(StartTask)
    of_same_user = select(func.count()).where(
        other.user_id == StartTask.user_id, other.status.not_in(_ENDED), other.lease_until >= moment
    )
    free = (
        select(StartTask.id)
        .join(Conversation, Conversation.id == StartTask.id)
        .where(
            StartTask.status.not_in(_ENDED), StartTask.lease_until < moment, Conversation.deleted_at.is_(None)
        )
        .where(~elsewhere(StartTask.sandbox_id, server_id), StartTask.id.not_in(under_way))
        .order_by(of_same_user.scalar_subquery(), StartTask.created_at)
        .limit(1)
    )
    statement = (
        update(StartTask)
        # The lease is tested twice: two workers may select the same task, and PostgreSQL tests the row again
        # after it has waited for the lock.
        .where(StartTask.id == free.scalar_subquery(), StartTask.lease_until < moment)
        .values(lease_owner=owner, lease_until=moment + LEASE)
        .returning(StartTask.id, StartTask.sandbox_id)
        .execution_options(synchronize_session=False)
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else Claim(*row)


def elsewhere(sandbox_id: InstrumentedAttribute[UUID], server_id: str | None) -> ColumnElement[bool]:
    """Returns the SQL condition that is true if the sandbox runs as a process on the machine of another app
    server. This app server cannot reach such a sandbox. `sandbox_id`: the column with the sandbox's id.
    `server_id`: the id of this app server; None means that there is only one app server.
    """
    if server_id is None:
        return false()
    other = aliased(Sandbox)
    return select(other.id).where(other.id == sandbox_id, other.server_id != server_id).exists()


async def is_awaited(session: AsyncSession, sandbox_id: UUID) -> bool:
    """Returns whether a conversation in the sandbox is still starting."""
    query = (
        select(StartTask.id)
        .join(Conversation, Conversation.id == StartTask.id)
        .where(
            StartTask.sandbox_id == sandbox_id,
            StartTask.status.not_in(_ENDED),
            Conversation.deleted_at.is_(None),
        )
    )
    return await session.scalar(query.limit(1)) is not None


async def renew(session: AsyncSession, task_id: UUID, owner: str) -> None:
    """Extends the time for which only the worker `owner` may work on the start task (its lease). A start task
    describes the start of one conversation. Raises LeaseLost if another worker has the lease or the
    conversation is being deleted.
    """
    alive = select(Conversation.id).where(Conversation.id == task_id, Conversation.deleted_at.is_(None))
    statement = (
        update(StartTask)
        .where(StartTask.id == task_id, StartTask.lease_owner == owner, alive.exists())
        .values(lease_until=now() + LEASE)
        .execution_options(synchronize_session=False)
    )
    result = await session.execute(statement)
    assert isinstance(result, CursorResult)
    if result.rowcount != 1:
        raise LeaseLost


async def release(session: AsyncSession, owner: str) -> None:
    """Ends all leases (rights to work on starts of conversations) of the worker `owner`, so that other
    workers can continue these starts.
    """
    await session.execute(
        update(StartTask)
        .where(StartTask.lease_owner == owner)
        .values(lease_owner=None, lease_until=LONG_AGO)
        .execution_options(synchronize_session=False)
    )


async def change(
    session: AsyncSession, task_id: UUID, owner: str, apply: Callable[[StartTask], None]
) -> StartTask:
    """Locks the row of the start task, which describes the start of one conversation. Changes the task with
    the function `apply`, and returns the task. Raises LeaseLost if the worker `owner` no longer has the right
    to work on the task.
    """
    task = await session.scalar(
        select(StartTask).where(StartTask.id == task_id, StartTask.lease_owner == owner).with_for_update()
    )
    if task is None:
        raise LeaseLost
    apply(task)
    task.updated_at = now()
    await session.flush()
    if task.status in _ENDED:
        await tell_of_progress(session, task_id)
    return task


def set_stage(task: StartTask, status: StartStatus, **fields: Any) -> None:
    """Changes fields of one stage of the start task, which describes the start of one conversation. `status`:
    the name of the stage. `fields`: the new values of the fields, by name; other fields keep their values.
    Replaces the whole list of stages, because SQLAlchemy would not notice a change inside the list.
    """
    task.stages = [{**stage, **fields} if stage["status"] == status else stage for stage in task.stages]


def stage_of(task: StartTask, status: StartStatus) -> StartStage:
    return next(StartStage.model_validate(stage) for stage in task.stages if stage["status"] == status)


def begin_stage(task: StartTask, status: StartStatus) -> None:
    task.status, task.detail = status, None
    set_stage(
        task,
        status,
        state="running",
        started_at=now().isoformat(),
        finished_at=None,
        detail=None,
        output=None,
    )


def fail(task: StartTask, stage: StartStatus, error: StartError) -> None:
    task.status, task.detail, task.error = StartStatus.ERROR, error.cause, error.model_dump(mode="json")
    task.lease_owner, task.lease_until = None, LONG_AGO
    set_stage(
        task,
        stage,
        state="failed",
        finished_at=now().isoformat(),
        detail=error.cause,
        output=error.output,
    )


def begin_again(task: StartTask) -> None:
    """Reopens the start of a conversation whose start was finished (READY) before. The start worker (a
    background task of the app server) then wakes the sandbox and sends the waiting messages to the agent
    server.
    """
    task.status, task.detail, task.error = StartStatus.WAITING_FOR_SANDBOX, None, None
    task.lease_owner, task.lease_until, task.updated_at = None, LONG_AGO, now()
    for stage in (StartStatus.WAITING_FOR_SANDBOX, STAGES[-1]):
        set_stage(task, stage, **StartStage(status=stage).model_dump(mode="json", exclude={"status"}))


def begin_anew(task: StartTask) -> None:
    """Resets all stages of a conversation's start that come after waiting for the sandbox, so that the start
    worker runs them again. If the start was finished (READY), reopens it. Called if a restored sandbox
    contains no files of the conversation, because the backup is older than the conversation.
    """
    if task.status is StartStatus.READY:
        begin_again(task)
    for stage in STAGES[STAGES.index(StartStatus.WAITING_FOR_SANDBOX) + 1 :]:
        set_stage(task, stage, **StartStage(status=stage).model_dump(mode="json", exclude={"status"}))


def only_waits(task: StartTask) -> bool:
    """Returns whether the conversation's start was finished (READY) before, and now only waits until the
    sandbox runs again.
    """
    before = stage_of(task, StartStatus.PREPARING_REPOSITORY)
    return task.status is StartStatus.WAITING_FOR_SANDBOX and before.state == "done"


def wait_no_more(task: StartTask) -> None:
    """Ends a start that was reopened only to wake its sandbox: sets the start to READY again, without waking
    the sandbox. Called if the user has deleted the message for which the sandbox was to be woken. The start
    worker that works on this start loses its lease (its right to work on the start).
    """
    task.status, task.detail, task.error = StartStatus.READY, None, None
    task.lease_owner, task.lease_until, task.updated_at = None, LONG_AGO, now()
    moment = now().isoformat()
    set_stage(
        task, StartStatus.WAITING_FOR_SANDBOX, state="skipped", finished_at=moment, detail=None, output=None
    )
    set_stage(task, STAGES[-1], state="done")


def retry(task: StartTask) -> None:
    """Reopens a failed start of a conversation at the stage that has failed.

    If the set-up script has failed, the repository is fetched again, so that a corrected version of the
    script runs.
    """
    failed = StartStatus(task.error["stage"]) if task.error else StartStatus.WORKING
    fetches_again = failed is StartStatus.RUNNING_SETUP_SCRIPT
    first = StartStatus.PREPARING_REPOSITORY if fetches_again else failed
    task.status, task.detail, task.error = first, None, None
    task.lease_owner, task.lease_until, task.updated_at = None, LONG_AGO, now()
    for stage in {first, failed}:
        set_stage(task, stage, **StartStage(status=stage).model_dump(mode="json", exclude={"status"}))
