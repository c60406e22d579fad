"""Stores, claims and ends jobs in SQL, the same way on SQLite and PostgreSQL."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    and_,
    delete,
    event,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app_server.core.database import now
from app_server.core.jobs.models import LONG_AGO, Job, JobState

LEASE = timedelta(seconds=15)
WAKE = "wake_jobs"
"""The name in `Session.info` under which the server's own worker is woken after a commit."""

_IS_LISTENING = "jobs_will_wake"
_SCHEDULES = UUID("5d0d2f6e-6a0c-4f0e-9d1b-7f0f5a3d9c11")
MAX_ERROR = 4000


async def enqueue(
    session: AsyncSession,
    kind: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    run_at: datetime | None = None,
    priority: int = 0,
    job_id: UUID | None = None,
) -> UUID:
    """Stores a job in the transaction of `session` and returns its id. A worker is woken after the commit.

    kind: one that `Jobs.register` knows, at most 80 characters. payload: JSON. key: jobs with the same key
    run one at a time, at most 200 characters. run_at: not before this time. priority: higher ones come
    first. job_id: an id of the caller's choice.
    """
    job = Job(
        id=job_id or uuid4(), kind=kind, payload=payload, key=key, run_at=run_at or now(), priority=priority
    )
    session.add(job)
    wake_after_commit(session)
    return job.id


def wake_after_commit(session: AsyncSession) -> None:
    """Wakes the worker of this server when the transaction has committed."""
    info = session.sync_session.info
    if WAKE not in info or info.get(_IS_LISTENING):
        return
    info[_IS_LISTENING] = True

    def wake(_session: object) -> None:
        del info[_IS_LISTENING]
        info[WAKE]()

    event.listen(session.sync_session, "after_commit", wake, once=True)


async def keep_schedule(session: AsyncSession, kind: str, every: timedelta) -> None:
    """Stores the one repeated job of this kind, or changes its interval."""
    job_id = schedule_id(kind)
    seconds = int(every.total_seconds())
    job = await session.get(Job, job_id)
    if job is None:
        # Not at once: all that a new installation would tidy up is still to come.
        session.add(
            Job(
                id=job_id,
                kind=kind,
                payload={},
                key=f"schedule:{kind}",
                every_seconds=seconds,
                run_at=now() + every,
            )
        )
    else:
        job.every_seconds = seconds
        if job.state not in (JobState.WAITING, JobState.RUNNING):
            job.state, job.attempts, job.run_at = JobState.WAITING, 0, now()


def schedule_id(kind: str) -> UUID:
    return uuid5(_SCHEDULES, kind)


def _free(moment: datetime, kinds: Collection[str], under_way: Collection[UUID]) -> ColumnElement[bool]:
    other = aliased(Job)
    # Literal text, so that SQLite sees that the index of keys in use contains all such rows.
    runs = other.state == literal_column(f"'{JobState.RUNNING}'")
    key_in_use = select(other.id).where(other.key == Job.key, runs, other.id != Job.id).exists()
    due = and_(Job.state == JobState.WAITING, Job.run_at <= moment, or_(Job.key.is_(None), ~key_in_use))
    cut_off = and_(Job.state == JobState.RUNNING, Job.lease_until < moment)
    return and_(or_(due, cut_off), Job.kind.in_(kinds), Job.id.not_in(under_way))


async def is_any_free(
    session: AsyncSession, moment: datetime, kinds: Collection[str], under_way: Collection[UUID]
) -> bool:
    return await session.scalar(select(Job.id).where(_free(moment, kinds, under_way)).limit(1)) is not None


async def next_due(session: AsyncSession, after: datetime, kinds: Collection[str]) -> datetime | None:
    """Returns the earliest time after `after` at which a waiting job may run. None: there is none."""
    waiting = select(func.min(Job.run_at)).where(
        Job.state == JobState.WAITING, Job.kind.in_(kinds), Job.run_at > after
    )
    return await session.scalar(waiting)


async def claim(
    session: AsyncSession, owner: str, kinds: Collection[str], under_way: Collection[UUID] = ()
) -> Job | None:
    """Leases the most urgent free job of these kinds to `owner` for the time LEASE. Returns None if none is
    free.

    Raises IntegrityError if another worker has claimed a job with the same key at the same moment.
    """
    moment = now()
    free = (
        select(Job.id)
        .where(_free(moment, kinds, under_way))
        .order_by(Job.priority.desc(), Job.run_at, Job.created_at)
        .limit(1)
    )
    statement = (
        update(Job)
        # Asked twice: two workers may find the same one, and PostgreSQL tests the row again after waiting.
        .where(
            Job.id == free.scalar_subquery(),
            Job.lease_until < moment,
            Job.state.in_((JobState.WAITING, JobState.RUNNING)),
        )
        .values(
            state=JobState.RUNNING,
            lease_owner=owner,
            lease_until=moment + LEASE,
            attempts=Job.attempts + 1,
        )
        .returning(Job)
        .execution_options(synchronize_session=False)
    )
    return (await session.scalars(statement)).one_or_none()


async def renew(session: AsyncSession, job_ids: Sequence[UUID], owner: str) -> set[UUID]:
    """Renews the leases and returns the jobs that `owner` still has."""
    statement = (
        update(Job)
        .where(Job.id.in_(job_ids), Job.lease_owner == owner, Job.state == JobState.RUNNING)
        .values(lease_until=now() + LEASE)
        .returning(Job.id)
        .execution_options(synchronize_session=False)
    )
    return set((await session.scalars(statement)).all())


async def settle(session: AsyncSession, job_id: UUID, owner: str, **values: Any) -> bool:
    """Ends the lease and writes the outcome of an attempt. Returns False if another worker has the job."""
    statement = (
        update(Job)
        .where(Job.id == job_id, Job.lease_owner == owner, Job.state == JobState.RUNNING)
        .values(lease_owner=None, lease_until=LONG_AGO, **values)
        .execution_options(synchronize_session=False)
    )
    result = await session.execute(statement)
    assert isinstance(result, CursorResult)
    return bool(result.rowcount == 1)


async def release(session: AsyncSession, owner: str) -> None:
    """Makes the jobs of `owner` free for other workers at once. The attempts that were cut off do not
    count.
    """
    await _free_held(session, Job.lease_owner == owner, attempts=Job.attempts - 1)


async def release_all(session: AsyncSession) -> None:
    """Makes all running jobs free at once: those of a server that was killed. Their attempts count, because a
    job may have been what ended the server.
    """
    await _free_held(session)


async def _free_held(session: AsyncSession, *held: ColumnElement[bool], **values: Any) -> None:
    await session.execute(
        update(Job)
        .where(Job.state == JobState.RUNNING, *held)
        .values(state=JobState.WAITING, lease_owner=None, lease_until=LONG_AGO, **values)
        .execution_options(synchronize_session=False)
    )


async def forget_ended(session: AsyncSession, done_for: timedelta, failed_for: timedelta) -> None:
    """Deletes jobs that have ended long ago. done_for: how long successful jobs are kept; failed_for: how
    long dead and cancelled ones.
    """
    moment = now()
    failed = (JobState.DEAD, JobState.CANCELLED)
    for states, age in (((JobState.DONE,), done_for), (failed, failed_for)):
        await session.execute(
            delete(Job)
            .where(Job.state.in_(states), Job.finished_at < moment - age, Job.every_seconds.is_(None))
            .execution_options(synchronize_session=False)
        )
