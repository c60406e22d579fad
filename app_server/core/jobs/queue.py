"""The database operations of the job queue: storing jobs, leasing jobs to workers, and storing the outcome of
jobs. A lease is the exclusive right of a worker to run a job for a limited time, which the worker extends
while the job runs. The SQL works on SQLite and PostgreSQL.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Table,
    and_,
    bindparam,
    case,
    delete,
    event,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import UtcDateTime, now
from app_server.core.jobs.models import LONG_AGO, Job, JobState

LEASE = timedelta(seconds=15)
WAKE = "wake_jobs"
"""The key in `Session.info` under which the function is stored that wakes this server's worker after a
commit.
"""

_IS_LISTENING = "jobs_will_wake"
_SCHEDULES = UUID("5d0d2f6e-6a0c-4f0e-9d1b-7f0f5a3d9c11")
MAX_ERROR = 4000
CUT_OFF = "The server ended, or was silent, during the attempt before."

_jobs = Job.__table__
assert isinstance(_jobs, Table)
_INSERT = insert(_jobs)


async def enqueue(
    session: AsyncSession,
    kind: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    run_at: datetime | None = None,
    priority: int = 0,
    job_id: UUID | None = None,
    created_at: datetime | None = None,
) -> UUID:
    """Stores a job in the transaction of `session` and returns its id. A worker is woken after the commit.

    `kind`: a kind that was passed to `Jobs.register`, at most 80 characters. `payload`: JSON for the handler.
    `key`: jobs with the same key run one at a time; at most 200 characters. `run_at`: the job does not run
    before this time; None means as soon as possible. `priority`: jobs with a higher number run first.
    `job_id`: the id of the job; None means a random id. `created_at`: when the work was first asked for; of
    two jobs with the same priority and `run_at`, the older one runs first. None means now.
    """
    job = Job(
        id=job_id or uuid4(),
        kind=kind,
        payload=payload,
        key=key,
        run_at=run_at or now(),
        priority=priority,
        created_at=created_at or now(),
    )
    session.add(job)
    wake_after_commit(session)
    return job.id


@dataclass(frozen=True)
class NewJob:
    """A job that is to be stored in the queue. `id`: the id of the job. `payload`: JSON for the handler.
    `key`: jobs with the same key run one at a time.
    """

    id: UUID
    payload: dict[str, Any]
    key: str | None = None


async def enqueue_all(session: AsyncSession, kind: str, jobs: Sequence[NewJob]) -> None:
    """Stores several jobs of one kind with one SQL statement, in the transaction of `session`. A worker is
    woken after the commit.
    """
    if not jobs:
        return
    rows = [{"id": each.id, "kind": kind, "payload": each.payload, "key": each.key} for each in jobs]
    await session.execute(_INSERT, rows)
    wake_after_commit(session)


def wake_after_commit(session: AsyncSession) -> None:
    """Makes this server's worker look for jobs when the transaction of `session` has committed. Several calls
    in one transaction have the same effect as one call.
    """
    info = session.sync_session.info
    if WAKE not in info or info.get(_IS_LISTENING):
        return
    info[_IS_LISTENING] = True

    def wake(_session: object) -> None:
        del info[_IS_LISTENING]
        info[WAKE]()

    event.listen(session.sync_session, "after_commit", wake, once=True)


async def keep_schedules(session: AsyncSession, intervals: Mapping[str, timedelta]) -> None:
    """Stores one repeated job for each kind in `intervals`, which maps the kind to the time between two runs.
    Called when the worker of an app server starts. The first run of a new job begins after one interval.

    If the job of a kind exists already, only its interval is changed. If the existing job has ended, it also
    runs again as soon as possible.
    """
    ids = {kind: schedule_id(kind) for kind in intervals}
    stored = {job.id: job for job in await session.scalars(select(Job).where(Job.id.in_(ids.values())))}
    for kind, every in intervals.items():
        seconds = int(every.total_seconds())
        job = stored.get(ids[kind])
        if job is None:
            # The first run is not at once, because a new installation has nothing to tidy up yet.
            session.add(
                Job(
                    id=ids[kind],
                    kind=kind,
                    payload={},
                    key=f"schedule:{kind}",
                    every_seconds=seconds,
                    run_at=now() + every,
                )
            )
            continue
        job.every_seconds = seconds
        if job.state not in (JobState.WAITING, JobState.RUNNING):
            job.state, job.attempts, job.run_at = JobState.WAITING, 0, now()


def schedule_id(kind: str) -> UUID:
    return uuid5(_SCHEDULES, kind)


def _free() -> ColumnElement[bool]:
    jobs, other = _jobs.c, _jobs.alias().c
    # The state is written as literal text. So SQLite can see that the partial index of used keys contains all
    # these rows.
    runs = other.state == literal_column(f"'{JobState.RUNNING}'")
    key_in_use = select(other.id).where(other.key == jobs.key, runs, other.id != jobs.id).exists()
    moment = bindparam("moment", type_=UtcDateTime())
    due = and_(jobs.state == JobState.WAITING, jobs.run_at <= moment, or_(jobs.key.is_(None), ~key_in_use))
    cut_off = and_(jobs.state == JobState.RUNNING, jobs.lease_until < moment)
    known = jobs.kind.in_(bindparam("kinds", expanding=True))
    return and_(or_(due, cut_off), known, jobs.id.not_in(bindparam("under_way", expanding=True)))


# Made once: the worker asks after each job.
_ANY_FREE = select(_jobs.c.id).where(_free()).limit(1)
_MOST_URGENT = (
    select(_jobs.c.id)
    .where(_free())
    .order_by(_jobs.c.priority.desc(), _jobs.c.run_at, _jobs.c.created_at)
    .limit(1)
)


async def is_any_free(
    session: AsyncSession, moment: datetime, kinds: Collection[str], under_way: Collection[UUID]
) -> bool:
    asked = {"moment": moment, "kinds": list(kinds), "under_way": list(under_way)}
    return await session.scalar(_ANY_FREE, asked) is not None


async def next_due(session: AsyncSession, after: datetime, kinds: Collection[str]) -> datetime | None:
    """Returns the earliest time after `after` at which a waiting job of these kinds may run. Returns None if
    no such job waits. The worker sleeps at most until this time, and then reads the queue again.
    """
    waiting = select(func.min(Job.run_at)).where(
        Job.state == JobState.WAITING, Job.kind.in_(kinds), Job.run_at > after
    )
    return await session.scalar(waiting)


async def claim(
    session: AsyncSession, owner: str, kinds: Collection[str], under_way: Collection[UUID] = ()
) -> Job | None:
    """Leases the most urgent free job to a worker and returns the job. During the lease, which lasts for the
    time LEASE, no other worker runs the job. Returns None if no job is free. Most urgent is the job with the
    highest priority; if there are several, the one whose time `run_at` is the earliest.

    A job is free if its time `run_at` has come and no job with the same key runs. A job is also free if the
    lease of its last attempt has expired, because this attempt was interrupted. In this case this function
    writes to the field `error` of the job that the last attempt was interrupted. The text stays there until
    the attempt that begins now ends.

    `owner`: the id of the worker. `kinds`: only jobs of these kinds. `under_way`: the ids of jobs that are
    left out, because the worker already runs them. Raises IntegrityError if another worker has leased a job
    with the same key at the same moment.
    """
    moment = now()
    statement = (
        update(Job)
        # The lease is tested twice: two workers may select the same job, and PostgreSQL tests the row again
        # after it has waited for the lock.
        .where(
            Job.id == _MOST_URGENT.scalar_subquery(),
            Job.lease_until < moment,
            Job.state.in_((JobState.WAITING, JobState.RUNNING)),
        )
        .values(
            state=JobState.RUNNING,
            lease_owner=owner,
            lease_until=moment + LEASE,
            attempts=Job.attempts + 1,
            error=case((Job.state == JobState.RUNNING, CUT_OFF), else_=Job.error),
        )
        .returning(Job)
        .execution_options(synchronize_session=False)
    )
    asked = {"moment": moment, "kinds": list(kinds), "under_way": list(under_way)}
    return (await session.scalars(statement, asked)).one_or_none()


async def renew(session: AsyncSession, job_ids: Sequence[UUID], owner: str) -> set[UUID]:
    """Extends the leases of a worker (its time-limited rights to run these jobs). Returns the ids of those
    jobs that are still leased to the worker. `owner`: the id of the worker.
    """
    statement = (
        update(Job)
        .where(Job.id.in_(job_ids), Job.lease_owner == owner, Job.state == JobState.RUNNING)
        .values(lease_until=now() + LEASE)
        .returning(Job.id)
        .execution_options(synchronize_session=False)
    )
    return set((await session.scalars(statement)).all())


async def settle(session: AsyncSession, job_id: UUID, owner: str, **values: Any) -> bool:
    """Stores the outcome of an attempt to run a job, and ends the lease (the worker's time-limited right to
    run the job). Returns whether the job was still leased to this worker; if it was not, stores nothing.
    `owner`: the id of the worker. `values`: the new values of the columns of Job.
    """
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
    """Ends all leases of a worker that stops, so that other workers can run its jobs immediately. The
    interrupted attempts do not count towards the maximum number of attempts. `owner`: the id of the worker.
    """
    await _free_held(session, Job.lease_owner == owner, attempts=Job.attempts - 1)


async def release_all(session: AsyncSession) -> None:
    """Ends all leases of jobs (the time-limited rights of workers to run them), so that the jobs can run
    again immediately. Called when the only server of the database starts, because the leases then belong to a
    process that was killed. The interrupted attempts count towards the maximum number of attempts, because a
    job may have caused the crash.
    """
    await _free_held(session, error=CUT_OFF)


async def _free_held(session: AsyncSession, *held: ColumnElement[bool], **values: Any) -> None:
    await session.execute(
        update(Job)
        .where(Job.state == JobState.RUNNING, *held)
        .values(state=JobState.WAITING, lease_owner=None, lease_until=LONG_AGO, **values)
        .execution_options(synchronize_session=False)
    )


async def forget_ended(session: AsyncSession, done_for: timedelta, failed_for: timedelta) -> None:
    """Deletes jobs that ended long ago, except jobs that repeat. `done_for`: for how long a successful job is
    kept after its end. `failed_for`: for how long a dead or cancelled job is kept after its end.
    """
    moment = now()
    failed = (JobState.DEAD, JobState.CANCELLED)
    for states, age in (((JobState.DONE,), done_for), (failed, failed_for)):
        await session.execute(
            delete(Job)
            .where(Job.state.in_(states), Job.finished_at < moment - age, Job.every_seconds.is_(None))
            .execution_options(synchronize_session=False)
        )
