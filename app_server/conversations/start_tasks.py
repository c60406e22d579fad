"""Start tasks in SQL: made, claimed by a lease, carried on, ended."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import CursorResult, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import LONG_AGO, STAGES, Conversation, StartStatus, StartTask
from app_server.conversations.schemas import StartError, StartStage
from app_server.database import now

LEASE = timedelta(seconds=10)

_ENDED = (StartStatus.READY, StartStatus.ERROR)


class LeaseLost(Exception):
    """The task is gone or another worker has it: whoever meets this stops at once, and saves nothing."""


def new_stages() -> list[Any]:
    return [StartStage(status=status).model_dump(mode="json") for status in STAGES]


async def claim(session: AsyncSession, owner: str) -> UUID | None:
    """The oldest start that nobody works on, now `owner`'s for as long as LEASE."""
    moment = now()
    free = (
        select(StartTask.id)
        .join(Conversation, Conversation.id == StartTask.id)
        .where(
            StartTask.status.not_in(_ENDED), StartTask.lease_until < moment, Conversation.deleted_at.is_(None)
        )
        .order_by(StartTask.created_at)
        .limit(1)
    )
    statement = (
        update(StartTask)
        # Asked twice: two workers may find the same one, and PostgreSQL tests the row again after waiting.
        .where(StartTask.id == free.scalar_subquery(), StartTask.lease_until < moment)
        .values(lease_owner=owner, lease_until=moment + LEASE)
        .returning(StartTask.id)
        .execution_options(synchronize_session=False)
    )
    return await session.scalar(statement)


async def renew(session: AsyncSession, task_id: UUID, owner: str) -> None:
    """Raises LeaseLost, also when the conversation is being deleted."""
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
    """Gives back what `owner` holds, for the next worker to take at once."""
    await session.execute(
        update(StartTask)
        .where(StartTask.lease_owner == owner)
        .values(lease_owner=None, lease_until=LONG_AGO)
        .execution_options(synchronize_session=False)
    )


async def change(
    session: AsyncSession, task_id: UUID, owner: str, apply: Callable[[StartTask], None]
) -> StartTask:
    """The locked task with `apply` done to it. Raises LeaseLost."""
    task = await session.scalar(
        select(StartTask).where(StartTask.id == task_id, StartTask.lease_owner == owner).with_for_update()
    )
    if task is None:
        raise LeaseLost
    apply(task)
    task.updated_at = now()
    await session.flush()
    return task


def set_stage(task: StartTask, status: StartStatus, **fields: Any) -> None:
    """Changes one stage of the task. A new list, so that the change is noticed and written."""
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


def retry(task: StartTask) -> None:
    """Makes a failed start go on at the stage that failed.

    A set-up script belongs to the repository: it is fetched again, so that a mended script is the one to run.
    """
    failed = StartStatus(task.error["stage"]) if task.error else StartStatus.WORKING
    fetches_again = failed is StartStatus.RUNNING_SETUP_SCRIPT
    first = StartStatus.PREPARING_REPOSITORY if fetches_again else failed
    task.status, task.detail, task.error = first, None, None
    task.lease_owner, task.lease_until, task.updated_at = None, LONG_AGO, now()
    for stage in {first, failed}:
        set_stage(task, stage, **StartStage(status=stage).model_dump(mode="json", exclude={"status"}))
